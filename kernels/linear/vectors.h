// Vectors of floats for any instruction set, by the common extension of GCC and clang, and moves of
// blocks of numbers.

#pragma once

#include <cstdint>
#include <cstring>

#define LIF_DIMS 1
#include "../lif/cpu/rows.h"

#define INLINE static inline __attribute__((always_inline))

#if defined(__AVX512F__)
constexpr int LANES = 16, MOST_TOGETHER = 4;
#elif defined(__AVX__)
constexpr int LANES = 8, MOST_TOGETHER = 4;
#elif defined(__aarch64__)
constexpr int LANES = 4, MOST_TOGETHER = 8;
#else
constexpr int LANES = 4, MOST_TOGETHER = 4;
#endif

#ifndef LINEAR_BLOCK
#define LINEAR_BLOCK 64
#endif
constexpr int64_t NO_MEMORY = -2;  // result of a pass without working memory: nothing is written
constexpr int64_t BLOCK = LINEAR_BLOCK;  // outputs that are computed together: 16, 32 or 64
constexpr int VECTORS = BLOCK / LANES;
// Vectors that are summed at once, in two chains each: more would not fit into the registers.
constexpr int TOGETHER = VECTORS < MOST_TOGETHER ? VECTORS : MOST_TOGETHER;

typedef float Vector __attribute__((vector_size(4 * LANES)));
typedef float Unaligned __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

INLINE Vector load(const float* from) { return *(const Unaligned*)from; }
INLINE void store(float* to, Vector v) { *(Unaligned*)to = v; }

INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t parts(int64_t size, int64_t part) { return (size + part - 1) / part; }

INLINE float widen(uint8_t x) { return (float)x; }

// `count` ≤ SIZE numbers as floats, `stride` apart: in place, or in `buffer`, padded with zeros.
template <int64_t SIZE = BLOCK, typename T>
INLINE const float* block_of(const T* from, int64_t stride, int64_t count, float* __restrict buffer) {
  if (sizeof(T) == sizeof(float) && stride == 1 && count == SIZE) return (const float*)from;
  if (stride == 1 && count == SIZE) {
#pragma omp simd
    for (int64_t j = 0; j < SIZE; ++j) buffer[j] = widen(from[j]);
    return buffer;
  }
  if (sizeof(T) == sizeof(float) && stride == 1) {
    memcpy(buffer, from, count * 4);
    memset(buffer + count, 0, (SIZE - count) * 4);
    return buffer;
  }
  for (int64_t j = 0; j < SIZE; ++j) buffer[j] = j < count ? widen(from[j * stride]) : 0.0f;
  return buffer;
}

// Destination of a block of numbers: memory itself, or a buffer that `put_block` then copies.
template <typename T>
INLINE float* place_block(T* to, float* buffer, int64_t count, bool past) {
  return sizeof(T) == sizeof(float) && count == BLOCK && !past ? (float*)to : buffer;
}

// Writes the first `count` numbers of a block to memory; `past`: past the caches if possible.
template <typename T>
INLINE void put_block(T* to, const float* __restrict block, int64_t count, bool past) {
  if ((const void*)to == block) return;
  if (count == BLOCK) return put_row<BLOCK>(to, block, BLOCK, past);  // a size that compilers know
  put_row<BLOCK>(to, block, count, past);
}

// -- transposing -----------------------------------------------------------------------------------------------

#if defined(__AVX512F__)
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif defined(__AVX__)
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define UPPER(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif

// LANES rows of LANES numbers become columns: log2(LANES) times, rows i and i + LANES/2 are
// interleaved.
INLINE void transpose_square(Vector rows[LANES]) {
  Vector next[LANES];
#pragma GCC unroll 4
  for (int round = 1; round < LANES; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < LANES / 2; ++i) {
      next[2 * i] = LOWER(rows[i], rows[i + LANES / 2]);
      next[2 * i + 1] = UPPER(rows[i], rows[i + LANES / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) rows[i] = next[i];
  }
}

INLINE Vector load_lanes(const float* from) { return load(from); }

template <typename T>
INLINE Vector load_lanes(const T* from) {
  alignas(64) float lanes[LANES];
#pragma omp simd
  for (int j = 0; j < LANES; ++j) lanes[j] = widen(from[j]);
  return load(lanes);
}

// to[column][row] = scale · from[row][column]
template <typename T>
static void transpose(const T* from, int64_t from_row, int64_t rows, int64_t columns, float scale, float* to, int64_t to_row) {
  const int64_t whole_rows = rows / LANES * LANES, whole_columns = columns / LANES * LANES;
  for (int64_t i = 0; i < whole_rows; i += LANES) {
    for (int64_t j = 0; j < whole_columns; j += LANES) {
      Vector square[LANES];
#pragma GCC unroll 16
      for (int k = 0; k < LANES; ++k) square[k] = load_lanes(from + (i + k) * from_row + j) * scale;
      transpose_square(square);
#pragma GCC unroll 16
      for (int k = 0; k < LANES; ++k) store(to + (j + k) * to_row + i, square[k]);
    }
  }
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
      to[j * to_row + i] = widen(from[i * from_row + j]) * scale;
}
