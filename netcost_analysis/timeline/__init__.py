"""What each CPU did, second by second: the tables, and sums over them."""
