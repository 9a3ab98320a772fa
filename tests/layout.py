"""What a page tells of itself while it loads."""

#: A script that gives the layout shifts so far, each as Chromium scores it.
SHIFTS = """() => new Promise((resolve) => {
    const found = [];
    new PerformanceObserver((list) => found.push(...list.getEntries().map((one) => one.value)))
        .observe({type: "layout-shift", buffered: true});
    setTimeout(() => resolve(found), 500);
})"""
