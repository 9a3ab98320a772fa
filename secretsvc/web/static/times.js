// Times stand in UTC in the page; the reader's own time is one hover or focus away.
for (const element of document.querySelectorAll("time[datetime]")) {
  element.title = new Date(element.dateTime).toLocaleString();
}
