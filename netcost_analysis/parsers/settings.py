# Settings of a kernel: how it was configured, and its sysctls.


def parse_kernel_config(text: str) -> dict[str, str]:
    """KEY=value lines of a kernel configuration as a dict, without its comments."""
    pairs = (
        line.strip().split("=", 1)
        for line in text.splitlines()
        if line.startswith("CONFIG_") and "=" in line
    )
    return {key: value.strip('"') for key, value in pairs}


def parse_sysctls(text: str) -> dict[str, str]:
    """What `sysctl -a` printed: name ("net.core.netdev_budget") to value."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {name.strip(): value.strip() for name, _, value in pairs}
