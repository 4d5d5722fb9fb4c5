// An idle web service: documents as ordinary objects. A line on standard input wakes it; it answers with a line.
"use strict";
const { createInterface } = require("readline");

const heap = Number(process.env.SWAPTUNE_HEAP);
const work = Number(process.env.SWAPTUNE_WORK);
let state = Number(process.env.SWAPTUNE_SEED) | 0;

// A seeded generator: Math.random() takes no seed.
function random() {
  state = (Math.imul(state, 1664525) + 1013904223) | 0;
  return (state >>> 0) / 4294967296;
}

const words = ("article author body category comment date draft editor excerpt footer gallery header heading image index item " +
  "keyword label language layout link list locale media menu meta page paragraph permission post published quote reader revision " +
  "section series slug status summary tag template theme title topic translation version view widget").split(" ");
const pick = () => words[Math.floor(random() * words.length)];
const phrase = (length) => Array.from({ length }, pick).join(" ");

function document_(number) {
  return {
    id: number,
    slug: `${pick()}-${pick()}-${number}`,
    hash: Array.from({ length: 4 }, () => Math.floor(random() * 4294967296).toString(16)).join(""),
    rating: random() * 5,
    tags: [pick(), pick(), pick()],
    paragraphs: Array.from({ length: 1 + Math.floor(random() * 4) }, () => ({ text: phrase(8), views: Math.floor(random() * 1e6) })),
    seen: 0,
  };
}

function wake(documents) {
  const count = Math.max(1, Math.floor((documents.length * work) / 100));
  const first = Math.floor(random() * documents.length);
  let total = 0;
  for (let index = first; index < first + count; index++) {
    const found = documents[index % documents.length];
    found.seen += 1;
    for (const paragraph of found.paragraphs) total += paragraph.views + paragraph.text.length;
  }
  return total;
}

const begin = process.memoryUsage().heapUsed;
const documents = [document_(0)];
while (process.memoryUsage().heapUsed - begin < heap) {
  for (let number = 0; number < 256; number++) documents.push(document_(documents.length));
}
console.log("ready");
createInterface({ input: process.stdin }).on("line", () => console.log(wake(documents)));
