"""Opening recordings and experiments, with the files that users give beside them."""
