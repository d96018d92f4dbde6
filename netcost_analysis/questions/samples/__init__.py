# What questions about samples share. No pandas: `netcost functions` answers before it could be
# imported.
