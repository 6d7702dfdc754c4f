"""Side by side with what people use: one command, one table, one plot."""
