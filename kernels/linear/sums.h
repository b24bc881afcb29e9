// Sums of rows of a table of 64 columns, selected by bits: one addition for each set bit by lists,
// or one for every four bits by tables of the 16 sums of four rows ("four Russians"), equally fast
// at any firing rate.
//
// Each 128 rows are summed from zero and then added to the result: short sums keep more digits. The
// order of additions does not depend on the number of threads.

#pragma once

#include "lists.h"

constexpr int64_t TABLE = (SELECTED + 1) * BLOCK;     // floats: 128 rows, and zeros for NOTHING
constexpr int64_t RUN = 32;                           // items that are summed one after the other: 8 KiB
constexpr int64_t HALF = BLOCK == 64 ? 32 : BLOCK, FOUR_ROWS = 16 * HALF;  // the sums of four rows, for half of 64 columns
constexpr int64_t PARTIAL = WORD / 4 * FOUR_ROWS;     // floats: 32 KiB, for the rows of a word

// sum[0:64] += scale · the rows of `table` that the list names, or = if `first`.
INLINE void add_listed(const uint8_t* list, int fours, const float* table, float scale, bool first, float* sum) {
#pragma GCC unroll 4
  for (int group = 0; group < VECTORS; group += TOGETHER) {
    Vector even[TOGETHER] = {}, odd[TOGETHER] = {};
    const float* column = table + group * LANES;
    for (const uint8_t *at = list, *end = list + 4 * fours; at < end; at += 4) {
      uint32_t four;
      memcpy(&four, at, 4);
      const float* r0 = column + (four & 255) * BLOCK;
      const float* r1 = column + (four >> 8 & 255) * BLOCK;
      const float* r2 = column + (four >> 16 & 255) * BLOCK;
      const float* r3 = column + (four >> 24) * BLOCK;
#pragma GCC unroll 8
      for (int v = 0; v < TOGETHER; ++v) {
        even[v] += load(r0 + v * LANES);
        odd[v] += load(r1 + v * LANES);
        even[v] += load(r2 + v * LANES);
        odd[v] += load(r3 + v * LANES);
      }
    }
#pragma GCC unroll 8
    for (int v = 0; v < TOGETHER; ++v) {
      float* to = sum + (group + v) * LANES;
      const Vector added = (even[v] + odd[v]) * scale;
      store(to, first ? added : load(to) + added);
    }
  }
}

// Adds the lists of a block, for all items; `sums` is [items][64]. Calls `then` for items [from,
// to) while their sums are in L1.
template <typename Then>
static void add_by_lists(const Lists& lists, int64_t block, const float* table, float scale, bool first, float* sums, Then then) {
  const uint8_t *fours = lists.fours + block * lists.items, *list = nullptr;
  for (int64_t from = 0; from < lists.items; from += RUN) {
    const int64_t to = smaller(lists.items, from + RUN);
    if (from % SEGMENT == 0) list = lists.segment(block, from / SEGMENT);
    for (int64_t item = from; item < to; list += 4 * fours[item++])
      add_listed(list, fours[item], table, scale, first, sums + item * BLOCK);
    then(from, to);
  }
}

// The 16 sums of each four of 64 rows.
static void fill_partial(const float* rows, float* partial) {
  for (int64_t group = 0; group < WORD / 4; ++group) {
    for (int64_t at = 0; at < HALF; at += LANES) {
      Vector sums[16];
      sums[0] = Vector{};
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const Vector row = load(rows + (4 * group + i) * BLOCK + at);
#pragma GCC unroll 8
        for (int j = 0; j < 1 << i; ++j) sums[(1 << i) + j] = sums[j] + row;
      }
#pragma GCC unroll 16
      for (int j = 0; j < 16; ++j) store(partial + group * FOUR_ROWS + j * HALF + at, sums[j]);
    }
  }
}

// Offset of the sum that bits 4·group to 4·group + 3 select in its group: bits · HALF, in one
// shift.
INLINE uint64_t selected_sum(uint64_t word, int group) {
  constexpr int PLACE = HALF == 32 ? 5 : 4;
  static_assert(HALF == 1 << PLACE, "the shift is for rows of 16 or 32 numbers");
  const int shift = 4 * group - PLACE;
  return (shift < 0 ? word << -shift : word >> shift) & 15 * HALF;
}

INLINE void add_partial(uint64_t word, const float* partial, float scale, bool first, float* sum) {
  constexpr int COUNT = HALF / LANES;
  Vector even[COUNT] = {}, odd[COUNT] = {};
#pragma GCC unroll 8
  for (int group = 0; group < WORD / 4; group += 2) {
    const float* r0 = partial + group * FOUR_ROWS + selected_sum(word, group);
    const float* r1 = partial + (group + 1) * FOUR_ROWS + selected_sum(word, group + 1);
#pragma GCC unroll 8
    for (int v = 0; v < COUNT; ++v) {
      even[v] += load(r0 + v * LANES);
      odd[v] += load(r1 + v * LANES);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < COUNT; ++v) {
    const Vector added = (even[v] + odd[v]) * scale;
    store(sum + v * LANES, first ? added : load(sum + v * LANES) + added);
  }
}

// The same for two rows of words; `high` may be missing. `partial` has room for PARTIAL floats.
// Inlining makes it 4 % slower with GCC.
template <typename Then>
__attribute__((noinline)) static void add_by_tables(const uint64_t* low, const uint64_t* high, int64_t items, const float* table,
                                                    float scale, bool first, float* sums, float* partial, Then then) {
  for (int64_t half = 0; half < BLOCK; half += HALF) {
    for (int upper = 0; upper < (high ? 2 : 1); ++upper) {
      fill_partial(table + upper * WORD * BLOCK + half, partial);
      const uint64_t* words = upper ? high : low;
      for (int64_t item = 0; item < items; ++item)
        add_partial(words[item], partial, scale, first && !upper, sums + item * BLOCK + half);
    }
  }
  then(0, items);
}
