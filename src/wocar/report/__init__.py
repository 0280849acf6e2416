"""Report: tables, figures, recordings and HTML pages of results. The only room that draws."""
