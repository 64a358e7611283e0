// One request of a block: who makes it, where it goes, how it is served, and what shared memory holds by then.
(function () {
  "use strict";

  // The indices of the element of an array that a byte lies in, null where it lies in none.
  function indexIn(array, address) {
    const axes = array.shape.map((size, axis) => ({ size, stride: array.strides[axis], axis }));
    let rest = address - array.address;
    for (const { size, stride } of axes) if (stride < 0) rest -= (size - 1) * stride;
    if (rest < 0) return null;
    const index = array.shape.map(() => 0);
    // From the widest stride to the narrowest, whatever order the axes have in memory.
    for (const { size, stride, axis } of axes.sort((a, b) => Math.abs(b.stride) - Math.abs(a.stride))) {
      if (size === 1 || stride === 0) continue;
      const steps = Math.floor(rest / Math.abs(stride));
      if (steps >= size) return null;
      rest -= steps * Math.abs(stride);
      index[axis] = stride < 0 ? size - 1 - steps : steps;
    }
    return rest < array.size ? index : null;
  }

  let held = { until: -1, cells: new Map() }; // what the stores up to a place have left, by address

  window.pictures.Request = class {
    constructor(banks, launch, block, place) {
      Object.assign(this, { banks, launch, block, place });
      this.warp = block.warp[place];
      this.step = block.step[place];
      this.base = block.base[place];
      this.site = launch.sites[block.site[place]];
      this.shape = launch.shapes[block.shape[place]];
    }

    bank(address) {
      return Math.floor((address - this.launch.origin) / this.launch.width) % this.banks;
    }

    // The first byte of each lane that is on: [lane, address].
    lanes() {
      return this.shape.lanes.map((offset, lane) => [lane, this.base + offset, offset]).filter((one) => one[2] >= 0);
    }

    // Name a byte by the element that it lies in, or else by its address.
    named(address) {
      if (this.site.shared) {
        const array = this.launch.arrays.find((one) => one.name === this.site.array);
        return (array && array.names[array.address.indexOf(address - (address % array.size))]) || "-";
      }
      for (const array of this.launch.globals) {
        const index = indexIn(array, address);
        if (index) return `${array.name}[${index.join(array.between)}]`;
      }
      return `0x${address.toString(16)}`;
    }

    // Replay the stores up to this request; the last one to an address stays: its value, and the thread it is from.
    contents() {
      const { block, place } = this;
      if (held.block !== block || held.until > place) held = { block, until: -1, cells: new Map() };
      for (let i = held.until + 1; i <= place; i++) {
        const values = block.values[i];
        if (!values) continue;
        this.launch.shapes[block.shape[i]].lanes.forEach((offset, lane) => {
          if (offset < 0 || values[lane] === "") return;
          held.cells.set(block.base[i] + offset, { value: values[lane], warp: block.warp[i], lane });
        });
      }
      held.until = place;
      return held.cells;
    }
  };
})();
