// Spikes as words of bits, and lists of the bits that are set.
//
// Words are stored as [words of 64 selectable rows][items]. In the product with a weight, items are
// rows (t, b) of the input and select rows of Wᵀ; in the weight's gradient, items are inputs k and
// select rows (t, b) of the gradient. Counts of spikes have one such array for each power of two,
// one after the other.

#pragma once

#include "vectors.h"

constexpr int64_t WORD = 64, SELECTED = 128;  // bits of a word; rows that a list selects from
constexpr uint8_t NOTHING = SELECTED;         // fills a list up: the table has a row of zeros there

// The bits of 64 numbers that are 1. `strange` becomes true if one is neither 0 nor 1.
INLINE uint64_t ones_of(const float* x, bool* strange) {
  uint64_t ones = 0, zeros = 0;
#if defined(__AVX512F__)
  __m512i other = _mm512_setzero_si512();
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512 v = _mm512_loadu_ps(x + 16 * i), one = _mm512_set1_ps(1.0f);
    const __mmask16 set = _mm512_cmp_ps_mask(v, one, _CMP_EQ_OQ);
    other = _mm512_or_si512(other, _mm512_castps_si512(_mm512_sub_ps(_mm512_mul_ps(v, v), v)));  // 0 for 0 and 1 only
    ones |= (uint64_t)set << 16 * i;
  }
  zeros = _mm512_test_epi32_mask(other, other) ? ones : ~ones;
#elif defined(__AVX__)
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    const __m256 v = _mm256_loadu_ps(x + 8 * i);
    ones |= (uint64_t)(uint8_t)_mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_set1_ps(1.0f), _CMP_EQ_OQ)) << 8 * i;
    zeros |= (uint64_t)(uint8_t)_mm256_movemask_ps(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_EQ_OQ)) << 8 * i;
  }
#else
  for (int i = 0; i < 64; ++i) {
    ones |= (uint64_t)(x[i] == 1.0f) << i;
    zeros |= (uint64_t)(x[i] == 0.0f) << i;
  }
#endif
  *strange |= (ones | zeros) != ~0ull;
  return ones;
}

// The same for whole numbers from 0 to `largest`: bit p of the numbers in words[p · stride].
// Returns the number of set bits.
static int64_t planes_of(const float* x, int64_t largest, int planes, uint64_t* words, int64_t stride, bool* strange) {
  uint64_t found[8] = {};
#if defined(__AVX2__)
  const __m256 most = _mm256_set1_ps((float)largest);
  for (int i = 0; i < 8; ++i) {
    const __m256 v = _mm256_loadu_ps(x + 8 * i);
    const __m256i count = _mm256_cvttps_epi32(v);
    const __m256 inside = _mm256_and_ps(_mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_GE_OQ), _mm256_cmp_ps(v, most, _CMP_LE_OQ));
    const __m256 whole = _mm256_and_ps(inside, _mm256_cmp_ps(v, _mm256_cvtepi32_ps(count), _CMP_EQ_OQ));
    *strange |= _mm256_movemask_ps(whole) != 255;
    for (int p = 0; p < planes; ++p) {
      const __m256i highest = _mm256_sll_epi32(count, _mm_cvtsi32_si128(31 - p));
      found[p] |= (uint64_t)(uint8_t)_mm256_movemask_ps(_mm256_castsi256_ps(highest)) << 8 * i;
    }
  }
#else
  uint32_t counts[WORD];
  for (int i = 0; i < WORD; ++i) {
    const bool whole = x[i] >= 0.0f && x[i] <= (float)largest;
    counts[i] = whole ? (uint32_t)x[i] : 0;
    *strange |= (float)counts[i] != x[i];
  }
  for (int p = 0; p < planes; ++p)
    for (int i = 0; i < WORD; ++i) found[p] |= (uint64_t)(counts[i] >> p & 1) << i;
#endif
  int64_t set = 0;
  for (int p = 0; p < planes; ++p) set += __builtin_popcountll(words[p * stride] = found[p]);
  return set;
}

// -- lists -----------------------------------------------------------------------------------------------------

#ifndef __AVX512VBMI2__
struct BitsOfBytes {
  uint64_t indices[256];  // the positions of a byte's bits, a byte each
  constexpr BitsOfBytes() : indices() {
    for (int byte = 0; byte < 256; ++byte) {
      int found = 0;
      for (int bit = 0; bit < 8; ++bit)
        if (byte >> bit & 1) indices[byte] |= (uint64_t)bit << 8 * found++;
    }
  }
};
static constexpr BitsOfBytes BITS;
#endif

// Writes the positions of set bits, `first` + 0 to 63, and returns their number. `to` has room for
// 64 bytes.
INLINE int positions(uint8_t* to, uint64_t word, int first) {
#ifdef __AVX512VBMI2__
  alignas(64) static constexpr uint8_t UP[64] = {
       0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15,
      16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
      32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,
      48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
  const __m512i up = _mm512_add_epi8(_mm512_load_si512(UP), _mm512_set1_epi8((char)first));
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi8(word, up));
  return __builtin_popcountll(word);
#else
  int found = 0;
  for (int byte = 0; byte < 8; ++byte, word >>= 8) {
    const uint64_t indices = BITS.indices[word & 255] + 0x0101010101010101ull * (uint64_t)(first + 8 * byte);
    memcpy(to + found, &indices, 8);
    found += __builtin_popcountll(word & 255);
  }
  return found;
#endif
}

constexpr int64_t SEGMENT = 256;                               // items with lists side by side
constexpr int64_t ROOM = SEGMENT * (SELECTED + 4) + WORD;      // for the lists of a segment

struct Lists {  // of the set bits of each item, for each 128 selectable rows
  uint8_t *data, *fours;  // a list is as long as 4 · its number in `fours`
  int64_t items, segments;

  static int64_t bytes(int64_t items, int64_t blocks) { return blocks * (parts(items, SEGMENT) * ROOM + items); }
  Lists(uint8_t* memory, int64_t items, int64_t blocks)
      : data(memory), fours(memory + blocks * parts(items, SEGMENT) * ROOM), items(items), segments(parts(items, SEGMENT)) {}

  uint8_t* segment(int64_t block, int64_t number) const { return data + (block * segments + number) * ROOM; }

  // The lists of a block and segment, from two rows of words; `high` may be missing.
  void fill(int64_t block, int64_t number, const uint64_t* low, const uint64_t* high) const {
    uint8_t *to = segment(block, number), *count = fours + block * items;
    for (int64_t item = number * SEGMENT; item < smaller(items, (number + 1) * SEGMENT); ++item) {
      int found = positions(to, low[item], 0);
      if (high) found += positions(to + found, high[item], WORD);
      memset(to + found, NOTHING, 4);
      count[item] = (uint8_t)((found + 3) / 4);
      to += 4 * count[item];
    }
  }
};
