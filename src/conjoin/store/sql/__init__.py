"""What both databases share: the statements, and the reads made of them."""
