"use strict";
// Draws the charts of the report, in colours from the style sheet.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const root = document.documentElement;

  const config = {
    displaylogo: false,
    responsive: true,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { scale: 2 },
  };

  // On touch screens, dragging must scroll and not zoom: there are buttons for that.
  const drag = matchMedia("(pointer: coarse)").matches ? false : "zoom";

  const template = () => {
    const style = getComputedStyle(root);
    const color = (name) => style.getPropertyValue(name).trim();
    const axis = {
      gridcolor: color("--line"),
      linecolor: color("--line"),
      tickcolor: color("--line"),
      spikecolor: color("--ink-soft"),
      spikethickness: 1,
    };
    return {
      layout: {
        paper_bgcolor: "rgba(0, 0, 0, 0)",
        plot_bgcolor: "rgba(0, 0, 0, 0)",
        font: { color: color("--ink-soft"), family: style.fontFamily, size: 12 },
        hoverlabel: { bgcolor: color("--card"), bordercolor: color("--line"), font: { color: color("--ink") } },
        modebar: { bgcolor: "rgba(0, 0, 0, 0)", color: color("--ink-soft"), activecolor: color("--ink") },
        xaxis: axis,
        yaxis: axis,
      },
    };
  };

  for (const { id, data, layout } of charts) {
    Plotly.newPlot(id, data, { ...layout, dragmode: drag, template: template() }, config);
  }
  const relayout = (changes) => charts.forEach(({ id }) => Plotly.relayout(id, changes));

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => relayout({ template: template() }));

  // Paper is light, and the style sheet sets the page to the width of paper.
  addEventListener("beforeprint", () => {
    root.classList.add("printed");
    relayout({ template: template(), width: 640 });
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printed");
    relayout({ template: template(), width: null, autosize: true });
  });

  for (const button of document.querySelectorAll("button.copy")) {
    const text = button.parentElement.querySelector("code");
    button.hidden = false;
    button.addEventListener("click", async () => {
      getSelection().selectAllChildren(text);
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Selected";
      }
    });
  }
})();
