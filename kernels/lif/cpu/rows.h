// Reads and writes of the CPU kernel: rows of up to TILE neighbouring columns of an array, as
// floats.
//
// float32 of unit stride is read and written in place, which is fastest. Other strides (also 0) and
// short types are copied through a row in cache. Results larger than the caches are written past
// them, which saves reading the lines that are about to be overwritten.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#ifdef __AVX__
#include <immintrin.h>
#endif

struct Bfloat16 {
  uint16_t bits;
};
typedef _Float16 Float16;

constexpr int64_t TILE = 256;   // columns that are computed at once
constexpr int64_t WIDE = 4096;  // columns of a tile that keeps one row in cache, at most
constexpr int64_t AHEAD = 2;    // steps between the row that is read and the one that is prefetched
constexpr int64_t LARGE = 2 << 20;  // bytes of a result that is written past the caches: more than a core's L2 holds
constexpr int DIMS = LIF_DIMS;  // MAX_DIMS

// -- numbers ---------------------------------------------------------------------------------------------------

static inline float widen(float x) { return x; }
static inline float widen(Float16 x) { return (float)x; }
static inline float widen(Bfloat16 x) {
  const uint32_t bits = (uint32_t)x.bits << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static inline void narrow(float x, float* out) { *out = x; }
static inline void narrow(float x, Float16* out) { *out = (Float16)x; }
static inline void narrow(float x, uint8_t* out) { *out = (uint8_t)x; }
static inline void narrow(float x, Bfloat16* out) {  // round to nearest even; NaN stays NaN
  uint32_t bits;
  memcpy(&bits, &x, 4);
  const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  out->bits = (uint16_t)(x != x ? 0x7fc0 : rounded);
}

template <typename T>
__attribute__((always_inline)) static inline void narrow_row(const float* __restrict row, int64_t count, T* __restrict to) {
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) narrow(row[j], to + j);
}

// -- arrays ----------------------------------------------------------------------------------------------------

template <typename T>
struct Array {  // strides in elements; no data: an absent array
  T* data;
  int64_t time, dims[DIMS];

  explicit operator bool() const { return data != nullptr; }
  int64_t stride() const { return dims[DIMS - 1]; }

  // The first column at step 0; the next step lies `time` numbers further.
  T* at(const int64_t* index) const {
    int64_t offset = 0;
    for (int d = 0; d < DIMS; ++d) offset += index[d] * dims[d];
    return data ? data + offset : nullptr;
  }

  // `count` numbers as adjacent floats, in `buffer` unless memory has that layout.
  const float* row(const T* from, int64_t count, float* __restrict buffer) const {
    if (sizeof(T) == sizeof(float) && stride() == 1) return (const float*)from;
    if (stride() == 1) {
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) buffer[j] = widen(from[j]);
    } else {
      for (int64_t j = 0; j < count; ++j) buffer[j] = widen(from[j * stride()]);
    }
    return buffer;
  }

  // Prefetches `count` numbers. The rows of a tile lie pages apart, where hardware prefetchers do
  // not follow. Always inlined, because GCC drops calls of a function that only prefetches.
  template <int LOCALITY>
  __attribute__((always_inline)) void prefetch(const T* from, int64_t count) const {
    if (stride() != 1) return;
    for (int64_t byte = 0; byte < count * (int64_t)sizeof(T); byte += 64) __builtin_prefetch((const char*)from + byte, 0, LOCALITY);
  }

  // `count` numbers; `missing`, `count` times, if there is no array.
  void load(const T* from, int64_t count, float* __restrict buffer, float missing) const {
    const float* found = data ? row(from, count, buffer) : buffer;
    if (data && found != buffer) memcpy(buffer, found, count * sizeof(float));
    if (!data) std::fill(buffer, buffer + count, missing);
  }

  void store(T* to, int64_t count, const float* __restrict row) const {
    if (stride() == 1) return narrow_row(row, count, to);
    for (int64_t j = 0; j < count; ++j) narrow(row[j], to + j * stride());
  }
};

// -- results ---------------------------------------------------------------------------------------------------

// Writes past the caches; false if this address, size or CPU does not support it.
static inline bool write_past_caches(void* to, const void* from, int64_t bytes) {
#if defined(__AVX512F__)
  typedef __m512i Line;
#define LIF_STREAM _mm512_stream_si512
#elif defined(__AVX__)
  typedef __m256i Line;
#define LIF_STREAM _mm256_stream_si256
#else
  return false;
#endif
#ifdef LIF_STREAM
  if ((uintptr_t)to % sizeof(Line) || bytes % sizeof(Line)) return false;
  for (int64_t k = 0; k < bytes / (int64_t)sizeof(Line); ++k) LIF_STREAM((Line*)to + k, ((const Line*)from)[k]);
  return true;
#endif
}

// Required after writes past the caches, so that other cores see the data.
static inline void finish_writes() {
#ifdef __AVX__
  _mm_sfence();
#endif
}

// Writes `count` ≤ MOST adjacent numbers to memory; `past`: past the caches if possible.
template <int64_t MOST, typename T>
__attribute__((always_inline)) static inline void put_row(T* to, const float* __restrict row, int64_t count, bool past) {
  if (!past) return narrow_row(row, count, to);
  alignas(64) T narrowed[sizeof(T) == sizeof(float) ? 1 : MOST];
  const void* from = row;
  if (sizeof(T) != sizeof(float)) {
    narrow_row(row, count, narrowed);
    from = narrowed;
  }
  if (!write_past_caches(to, from, count * sizeof(T))) memcpy((void*)to, from, count * sizeof(T));
}

template <typename T>
struct Result {  // rows of an array that are computed one after the other
  const Array<T>& array;
  bool past_caches, in_place;

  Result(const Array<T>& array, int64_t elements)
      : array(array),
        past_caches(array.stride() == 1 && elements * (int64_t)sizeof(T) > LARGE),
        in_place(sizeof(T) == sizeof(float) && array.stride() == 1 && !past_caches) {}

  // Destination of a row: the array itself, or the buffer.
  float* place(T* to, float* buffer) const { return in_place ? (float*)to : buffer; }

  // Copies a computed row to the array.
  void write(T* to, int64_t count, const float* __restrict row) const {
    if (in_place) return;
    past_caches ? put_row<TILE>(to, row, count, true) : array.store(to, count, row);
  }
};

static inline void store_bits(uint8_t* to, int64_t count, const float* __restrict row) {
  for (int64_t first = 0; first < count; first += 8) {
    unsigned byte = 0;
    for (int64_t j = first; j < count && j < first + 8; ++j) byte |= (row[j] > 0.0f ? 1u : 0u) << (j - first);
    to[first / 8] = (uint8_t)byte;
  }
}

// -- tiles -----------------------------------------------------------------------------------------------------

struct Tiles {  // of the sequences: rows of the last dim, cut into pieces of at most `width` columns
  int64_t sizes[DIMS], width, per_row, count;

  Tiles(const int64_t* given, int64_t threads, int64_t widest) {
    int64_t rows = 1;
    for (int d = 0; d < DIMS; ++d) sizes[d] = given[d];
    for (int d = 0; d < DIMS - 1; ++d) rows *= sizes[d];
    width = widest;
    while (width > 64 && rows * ((sizes[DIMS - 1] + width - 1) / width) < 4 * threads) width /= 2;
    per_row = (sizes[DIMS - 1] + width - 1) / width;
    count = rows * per_row;
  }

  // Sets the index of a tile's first column and returns its number of columns.
  int64_t place(int64_t tile, int64_t* index) const {
    index[DIMS - 1] = tile % per_row * width;
    int64_t row = tile / per_row;
    for (int d = DIMS - 2; d >= 0; --d) {
      index[d] = row % sizes[d];
      row /= sizes[d];
    }
    const int64_t left = sizes[DIMS - 1] - index[DIMS - 1];
    return left < width ? left : width;
  }
};
