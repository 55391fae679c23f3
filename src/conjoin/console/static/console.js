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
      const attention = document.querySelector("[data-attention]");
      // A template of the server has escaped it. Whoever is on an action stays there.
      if (attention && attention.dataset.last !== told.attention) {
        if (attention.dataset.last !== undefined) {
          const held = document.activeElement && document.activeElement.id;
          attention.innerHTML = told.attention;
          if (held && attention.querySelector(`#${CSS.escape(held)}`)) document.getElementById(held).focus();
        }
        attention.dataset.last = told.attention;
      }
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

  const MODEL = "http://www.omg.org/spec/BPMN/20100524/MODEL";
  const DI = "http://www.omg.org/spec/BPMN/20100524/DI", DC = "http://www.omg.org/spec/DD/20100524/DC";

  const parse = (xml) => new DOMParser().parseFromString(xml, "text/xml");
  const processesOf = (parsed) => [...parsed.documentElement.children].filter((it) => it.localName === "process");

  function append(parent, namespace, name, attributes) {
    const node = parent.ownerDocument.createElementNS(namespace, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return parent.appendChild(node);
  }

  function planeIn(parsed, attributes) {
    const diagram = append(parsed.documentElement, DI, "bpmndi:BPMNDiagram", { id: "_diagram" });
    return append(diagram, DI, "bpmndi:BPMNPlane", { id: "_plane", ...attributes });
  }

  // The layout knows only the flows that elements name themselves, which they need not do.
  function nameFlows(parsed) {
    const elements = new Map([...parsed.querySelectorAll("[id]")].map((it) => [it.id, it]));
    for (const flow of parsed.querySelectorAll("sequenceFlow")) {
      for (const [end, name] of [["sourceRef", "outgoing"], ["targetRef", "incoming"]]) {
        const element = elements.get(flow.getAttribute(end));
        const isNamed = (it) => it.localName === name && it.textContent.trim() === flow.id;
        if (element && ![...element.children].some(isNamed)) append(element, MODEL, name, {}).textContent = flow.id;
      }
    }
  }

  // Subprocesses are laid out open only where a shape says so; closed, the tokens inside would not be seen.
  function layoutOf(parsed) {
    nameFlows(parsed);
    const plane = planeIn(parsed, {});
    for (const it of parsed.querySelectorAll("subProcess, transaction, adHocSubProcess")) {
      append(plane, DI, "bpmndi:BPMNShape", { id: `_shape_${it.id}`, bpmnElement: it.id, isExpanded: "true" });
    }
    return BpmnAutoLayout.layoutProcess(new XMLSerializer().serializeToString(parsed));
  }

  // The library lays out one process: of several each is laid out by itself, in a pool, one below the other.
  async function laidOut(xml) {
    const parsed = parse(xml), count = processesOf(parsed).length;
    if (count < 2) return layoutOf(parsed);
    parsed.querySelectorAll("collaboration").forEach((it) => it.remove());
    const pools = append(parsed.documentElement, MODEL, "collaboration", { id: "_pools" });
    const plane = planeIn(parsed, { bpmnElement: "_pools" });
    let top = 0;
    for (let index = 0; index < count; index += 1) {
      const alone = parse(xml);
      alone.querySelectorAll("collaboration").forEach((it) => it.remove());
      processesOf(alone).filter((it, number) => number !== index).forEach((it) => it.remove());
      const laid = parse(await layoutOf(alone)).querySelector("BPMNPlane");
      const points = [...laid.querySelectorAll("Bounds, waypoint")].map((node) => ({
        node, x: Number(node.getAttribute("x")), y: Number(node.getAttribute("y")),
        width: Number(node.getAttribute("width")), height: Number(node.getAttribute("height")),
      }));
      const least = (values) => values.reduce((one, other) => Math.min(one, other), Infinity);
      const left = least(points.map((it) => it.x)), upper = least(points.map((it) => it.y));
      const width = -least(points.map((it) => -it.x - it.width)) - left;
      const height = -least(points.map((it) => -it.y - it.height)) - upper;
      for (const { node, x, y } of points) {
        node.setAttribute("x", x - left + 70);
        node.setAttribute("y", y - upper + top + 40);
      }
      const process = processesOf(parsed)[index], id = `_pool_${index}`;
      const name = process.getAttribute("name") || process.id;
      append(pools, MODEL, "participant", { id, name, processRef: process.id });
      const pool = append(plane, DI, "bpmndi:BPMNShape", { id: `_shape_${id}`, bpmnElement: id, isHorizontal: "true" });
      append(pool, DC, "dc:Bounds", { x: 0, y: top, width: width + 110, height: height + 80 });
      for (const it of [...laid.children]) plane.appendChild(parsed.importNode(it, true));
      top += height + 110;
    }
    return new XMLSerializer().serializeToString(parsed);
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
    // Single ones and all that match exclude each other.
    if (event.target.matches("[data-all]") && event.target.checked) {
      each("input[name=selected], [data-select-all]", (box) => { box.checked = false; });
    }
    if (event.target.matches("input[name=selected], [data-select-all]") && event.target.checked) {
      each("[data-all]", (box) => { box.checked = false; });
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
