// Plays a recording: unpacks it, has the present request drawn, and steps. It loads nothing.
(async function () {
  "use strict";

  const { Request, tile, banks: bankPicture, sectors: sectorPicture } = window.pictures;
  const AROUND = 30; // pixels of a panel beside its picture
  const at = (id) => document.getElementById(id);
  const packed = atob(at("data").textContent);
  const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const { banks, launches, worst } = await new Response(stream).json();

  let launch; // the one that is played
  let block; // of it
  let array; // its shared array that is drawn
  let place = 0; // of the present request in the block
  let timer = 0;

  for (const one of launches) {
    for (const part of one.blocks) {
      let address = 0;
      part.base = part.base.map((step) => (address += step));
    }
  }

  // Put a picture in its place, or leave the place out; its name and its table come from tables.js.
  function put(id, picture) {
    at(`${id}-picture`).hidden = !picture;
    if (!picture) return;
    const figure = at(id);
    window.pictures.show(figure, picture);
    figure.says = picture.says;
    figure.tables = picture.tables;
    figure.at = picture.at;
    window.pictures.key(at(`${id}-key`), picture.legend);
    at(`${id}-note`).textContent = id === "tile" ? picture.part : picture.note;
    figure.dispatchEvent(new Event("figure-drawn", { bubbles: true }));
  }

  function show() {
    const empty = !block;
    for (const id of ["first", "previous", "play", "next", "last", "place"]) at(id).disabled = empty;
    if (empty) {
      at("present").textContent = gettext("No request of this launch was logged.");
      at("why").textContent = "";
      for (const id of ["tile", "banks", "sectors"]) put(id, null);
      return;
    }
    const last = block.warp.length - 1;
    const request = new Request(banks, launch, block, place);
    const { site } = request;
    at("place").max = last;
    at("place").value = place;
    at("present").textContent = gettext("{n} of {total}: {access} of {site} by warp {warp}, step {step}: {cost}", {
      n: (place + 1).toLocaleString("en"),
      total: (last + 1).toLocaleString("en"),
      access: site.does,
      site: site.source,
      warp: request.warp,
      step: request.step,
      cost: request.shape.cost,
    });
    at("place").setAttribute("aria-valuetext", at("present").textContent);
    at("why").replaceChildren(...site.why.map(([head, said]) => {
      const line = element("p", "", "");
      line.append(element("strong", "", head), ` ${said}`);
      return line;
    }));
    const width = at("tile-picture").parentElement.clientWidth - AROUND;
    put("tile", array ? tile(request, array, { width, height: 480 }) : null);
    put("banks", site.shared ? bankPicture(request, { width, height: 200 }) : null);
    put("sectors", site.shared ? null : sectorPicture(request, { width, height: 420 }));
    for (const button of at("source").querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.site) === block.site[place]));
    }
    const list = at("source").parentElement;
    const pressed = list.querySelector('[aria-pressed="true"]');
    const top = pressed.getBoundingClientRect().top - list.getBoundingClientRect().top;
    if (top < 30 || top > list.clientHeight - 30) list.scrollTop += top - list.clientHeight / 2;
  }

  function go(wanted) {
    if (!block) return;
    place = Math.max(0, Math.min(wanted, block.warp.length - 1));
    const site = launch.sites[block.site[place]];
    const goesTo = site.shared && launch.arrays.find((one) => one.name === site.array);
    if (goesTo && goesTo !== array && !at("array").dataset.chosen) {
      array = goesTo;
      at("array").value = array.name;
    }
    show();
  }

  // The first request of a site: in this block, else in the first that has one; null where none was logged.
  function firstOf(site) {
    const found = [block, ...launch.blocks].find((part) => part && part.site.includes(site));
    return found ? [launch.blocks.indexOf(found), found.site.indexOf(site)] : null;
  }

  function play(on) {
    window.clearInterval(timer);
    timer = 0;
    at("play").textContent = on ? "\u23F8\uFE0E" : "\u25B6\uFE0E";
    at("play").setAttribute("aria-label", on ? gettext("Pause") : gettext("Play"));
    if (!on) return;
    if (place >= block.warp.length - 1) go(0);
    timer = window.setInterval(() => {
      go(place + 1);
      if (place >= block.warp.length - 1) play(false);
    }, 1000 / Number(at("pace").value));
  }

  function options(id, texts) {
    at(id).replaceChildren(...texts.map((said, i) => new Option(said, String(i))));
  }

  function element(name, kind, said) {
    const made = document.createElement(name);
    made.className = kind;
    made.textContent = said;
    return made;
  }

  function siteButton(i, said) {
    const { source, badge, excess } = launch.sites[i];
    const button = element("button", `badge ${excess ? "conflict" : "plain"}`, said);
    const name = `${source} ${badge}`;
    Object.assign(button, { type: "button", title: badge, ariaLabel: name, disabled: !firstOf(i) });
    button.dataset.site = String(i);
    button.addEventListener("click", () => openBlock(...firstOf(i)));
    return button;
  }

  // As the kernel page lists it: assets/pictures/source.css is of both.
  function listSource() {
    const costs = (kind, cells, others = []) => {
      const costs = element("span", "costs", "");
      costs.append(...others, ...Object.entries(cells).map(([name, said]) => element("span", `${name} ${kind}`, said)));
      return costs;
    };
    const heads = element("li", "source-line source-heads", "");
    heads.append(costs("", { degree: gettext("degree"), excess: gettext("excess"), share: gettext("share") }));
    const lines = [heads];
    launch.files.forEach((file, nth) => {
      if (nth) lines.push(element("li", "file", file.name));
      for (const [number, parts, others, cells, heat] of file.lines) {
        const line = element("li", `source-line heat-${heat}`, "");
        const code = element("code", "", "");
        code.style.setProperty("--indent", `${parts.length ? parts[0][0].search(/\S|$/) : 0}ch`);
        code.append(...parts.map(([said, i]) => (i === null ? said : siteButton(i, said))));
        line.append(element("span", "line-number", number), code);
        line.append(costs(heat ? "conflict" : "", cells, others.map(([i, said]) => siteButton(i, said))));
        lines.push(line);
      }
    });
    at("source").replaceChildren(...lines);
  }

  function openBlock(i, start) {
    play(false);
    block = launch.blocks[i];
    at("block").value = String(i);
    if (block) go(start);
    else show();
  }

  function openLaunch(i) {
    launch = launches[i];
    at("headline").textContent = launch.headline;
    at("left-out").textContent = launch.left_out
      ? gettext("{n} more logged requests of this launch are counted and not played.", { n: launch.left_out.toLocaleString("en") })
      : "";
    options("block", launch.blocks.map((part) => part.block));
    at("array").replaceChildren(...launch.arrays.map((one) => new Option(one.name, one.name)));
    at("array").parentElement.hidden = launch.arrays.length < 2;
    delete at("array").dataset.chosen;
    array = launch.arrays[0];
    block = null;
    listSource();
    openBlock(Math.max(launch.blocks.findIndex((part) => part.block === launch.first), 0), launch.start);
  }

  const steps = {
    first: () => go(0),
    previous: () => go(place - 1),
    next: () => go(place + 1),
    last: () => go(block.warp.length - 1),
  };
  for (const [id, step] of Object.entries(steps)) {
    at(id).addEventListener("click", () => {
      play(false);
      step();
    });
  }
  at("play").addEventListener("click", () => play(!timer));
  at("pace").addEventListener("change", () => timer && play(true));
  at("place").addEventListener("input", () => go(Number(at("place").value)));
  window.addEventListener("resize", show);
  at("launch").addEventListener("change", () => openLaunch(Number(at("launch").value)));
  at("block").addEventListener("change", () => openBlock(Number(at("block").value), 0));
  at("array").addEventListener("change", () => {
    array = launch.arrays.find((one) => one.name === at("array").value);
    at("array").dataset.chosen = "yes";
    show();
  });

  // A part that scrolls keeps the keys that scroll it.
  const scrolls = (one) =>
    one.matches(".scroller") && (one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight);

  const KEYS = { ArrowLeft: "previous", ArrowRight: "next", Home: "first", End: "last" };
  document.addEventListener("keydown", (event) => {
    const { target } = event;
    if (event.altKey || event.ctrlKey || event.metaKey || !block || target.closest("select, input") || scrolls(target)) return;
    const isButton = target.closest("button");
    if (KEYS[event.key]) at(KEYS[event.key]).click();
    else if (event.key === " " && !isButton) play(!timer);
    else return;
    event.preventDefault();
  });

  const isDark = () =>
    (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const offered = () => (at("theme").textContent = isDark() ? gettext("Light") : gettext("Dark"));
  at("theme").hidden = document.querySelector('meta[name="color-scheme"]').content !== "light dark";
  at("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    offered();
  });
  offered();

  at("player").hidden = false;
  options("launch", launches.map((one) => one.name));
  at("launch").value = String(worst);
  openLaunch(worst);
  document.documentElement.dataset.ready = "yes";
})();
