"""Opening recordings and experiments, with what is given beside them."""
