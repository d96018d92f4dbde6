"""A timeline to look at: what a picture of it asks for, place by place."""
