"""What happened on my bus yesterday? Figures that Spark finds, and two ways of telling them: a page and a terminal."""
