"""Tables, figures, pages. The only room that draws."""
