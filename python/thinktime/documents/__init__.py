"""Documents: sections of sentences, tables and figures, and the forms they are printed in."""
