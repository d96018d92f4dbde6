# What questions about samples go by that needs no pandas: `netcost functions` answers before that
# could be imported.
