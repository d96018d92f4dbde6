"""The interactive timeline: its tiles and details, a server, a page and a widget."""
