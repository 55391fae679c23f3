// What the pages cannot do without a script: figures that stay current, diagrams, and a few keys. Every page works
// without it. Texts of others are only ever set as text.
"use strict";

(() => {
  const each = (selector, act) => document.querySelectorAll(selector).forEach(act);

  function followFigures() {
    if (!document.querySelector("[data-live]")) return;
    // Where there is no room for an hour, the last minutes are what matters.
    each("[data-plot]", (place) => { place.scrollLeft = place.scrollWidth; });
    const stream = new EventSource("/console/events");
    stream.onmessage = (event) => {
      const told = JSON.parse(event.data);
      each("[data-figure]", (place) => {
        const text = told.figures[place.dataset.figure];
        if (text !== undefined && place.textContent !== text) place.textContent = text;
      });
      // Drawn by the server, of numbers and its own words.
      each("[data-plot]", (place) => { place.innerHTML = told.plots[place.dataset.plot]; });
    };
    addEventListener("pagehide", () => stream.close());
  }

  function badge(text, troubled) {
    const node = document.createElement("span");
    node.className = troubled ? "token troubled" : "token";
    node.textContent = text;
    return node;
  }

  function mark(viewer, counts, className, makeBadge) {
    const canvas = viewer.get("canvas"), overlays = viewer.get("overlays"), known = viewer.get("elementRegistry");
    for (const [id, count] of Object.entries(counts)) {
      if (!known.get(id)) continue;
      canvas.addMarker(id, className);
      overlays.add(id, makeBadge(count));
    }
  }

  // The layout leaves closed what does not say that it is open: then nobody would see the tokens inside.
  function laidOut(xml) {
    const parsed = new DOMParser().parseFromString(xml, "text/xml");
    const inside = (parent, name, attributes) => {
      const node = parsed.createElementNS("http://www.omg.org/spec/BPMN/20100524/DI", `bpmndi:${name}`);
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
      return parent.appendChild(node);
    };
    const plane = inside(inside(parsed.documentElement, "BPMNDiagram", { id: "_diagram" }), "BPMNPlane", { id: "_plane" });
    for (const it of parsed.querySelectorAll("subProcess, transaction, adHocSubProcess")) {
      inside(plane, "BPMNShape", { id: `_shape_${it.id}`, bpmnElement: it.id, isExpanded: "true" });
    }
    return BpmnAutoLayout.layoutProcess(new XMLSerializer().serializeToString(parsed));
  }

  async function draw(place) {
    const colours = getComputedStyle(document.documentElement);
    const colour = (name) => colours.getPropertyValue(name).trim();
    const viewer = new BpmnJS({
      container: place,
      bpmnRenderer: {
        defaultFillColor: colour("--card"), defaultStrokeColor: colour("--ink"), defaultLabelColor: colour("--ink"),
      },
    });
    const answer = await fetch(place.dataset.diagram);
    const xml = await answer.text();
    await viewer.importXML("layout" in place.dataset ? await laidOut(xml) : xml);
    // A little less than fits, so that what is at the edge has room for its badge.
    const canvas = viewer.get("canvas");
    canvas.zoom(canvas.zoom("fit-viewport", "auto") * 0.93, "auto");
    mark(viewer, JSON.parse(place.dataset.tokens), "has-token",
      (count) => ({ position: { bottom: 12, left: -12 }, html: badge(String(count), false) }));
    mark(viewer, JSON.parse(place.dataset.troubled), "has-trouble",
      (count) => ({ position: { top: -12, right: 12 }, html: badge(`! ${count}`, true) }));
    place.dataset.drawn = "yes";
  }

  function drawDiagrams() {
    each("[data-diagram]", (place) => draw(place).catch((error) => {
      place.textContent = `The diagram cannot be drawn: ${error.message}`;
    }));
  }

  document.addEventListener("DOMContentLoaded", () => { followFigures(); drawDiagrams(); });

  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, textarea, select");
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      document.getElementById("q").focus();
    }
  });
  document.addEventListener("submit", (event) => {
    const question = event.submitter && event.submitter.dataset.confirm;
    if (question && !confirm(question)) event.preventDefault();
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-select-all]")) {
      each("input[name=selected]", (box) => { box.checked = event.target.checked; });
    }
  });
  // Addresses that people send each other have no empty parts.
  document.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.verb !== "get") return;
    for (const [name, value] of [...event.detail.formData.entries()]) {
      if (value === "") event.detail.formData.delete(name);
    }
  });
})();
