// The dense product in float32: a tile of rows × two vectors of columns stays in registers over all
// terms.
//
// Compiled with contraction to fused multiply-adds, unlike all code with a neuron. The order of an
// element's additions depends on the number of terms only, so results are equal for any number of
// threads and rows.

#include <omp.h>

#include <cstdlib>

#include "vectors.h"

#if defined(__AVX512F__)
constexpr int64_t TILE_ROWS = 14;
#elif defined(__aarch64__)
constexpr int64_t TILE_ROWS = 12;
#else
constexpr int64_t TILE_ROWS = 6;
#endif
constexpr int64_t TILE_COLUMNS = 2 * LANES, MOST_TERMS = 768;
constexpr int64_t FEW_TILES = 2;  // up to which a right operand is read in place: packing takes longer
constexpr int64_t FAR = 4096;  // bytes between rows from where on they share sets of L1: such a left operand is copied

// c (+)= a · b for ROWS rows: a[i · a_row + k · a_k], b[k · b_k] and the next TILE_COLUMNS.
template <int ROWS>
INLINE void tile(int64_t terms, const float* __restrict a, int64_t a_row, int64_t a_k, const float* __restrict b, int64_t b_k,
                 float* __restrict c, int64_t c_row, bool first) {
  Vector left[ROWS] = {}, right[ROWS] = {};
  for (int64_t k = 0; k < terms; ++k, a += a_k, b += b_k) {
    const Vector b0 = load(b), b1 = load(b + LANES);
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i) {
      left[i] += a[i * a_row] * b0;
      right[i] += a[i * a_row] * b1;
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < ROWS; ++i, c += c_row) {
    store(c, first ? left[i] : load(c) + left[i]);
    store(c + LANES, first ? right[i] : load(c + LANES) + right[i]);
  }
}

// The last tile, of `rows` copied rows: each row of a whole tile costs the same, also if it is
// missing.
__attribute__((noinline)) static void last_tile(int64_t rows, int64_t terms, const float* a, const float* b, int64_t b_k,
                                                float* c, int64_t c_row, bool first) {
  constexpr int HALF_OF_ROWS = TILE_ROWS / 2;
  if (rows <= 2) return tile<2>(terms, a, 1, TILE_ROWS, b, b_k, c, c_row, first);
  if (rows <= HALF_OF_ROWS) return tile<HALF_OF_ROWS>(terms, a, 1, TILE_ROWS, b, b_k, c, c_row, first);
  tile<TILE_ROWS>(terms, a, 1, TILE_ROWS, b, b_k, c, c_row, first);
}

// Rows of a as [k][TILE_ROWS]; missing rows are zeros. Inlining makes GCC's loop of tiles 12 %
// slower.
__attribute__((noinline)) static void copy_left(const float* a, int64_t a_row, int64_t a_k, int64_t rows, int64_t terms,
                                                float* to) {
  const int64_t in_squares = TILE_ROWS <= LANES && rows == TILE_ROWS && a_k == 1 ? terms / LANES * LANES : 0;
  for (int64_t k = 0; k < in_squares; k += LANES) {
    Vector square[LANES];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) square[i] = i < TILE_ROWS ? load(a + i * a_row + k) : Vector{};
    transpose_square(square);
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) memcpy(to + (k + i) * TILE_ROWS, &square[i], smaller(TILE_ROWS, LANES) * 4);
  }
  for (int64_t i = 0; i < TILE_ROWS; ++i)
    for (int64_t k = in_squares; k < terms; ++k) to[k * TILE_ROWS + i] = i < rows ? a[i * a_row + k * a_k] : 0.0f;
}

// Columns of b as [k][TILE_COLUMNS]; missing columns are zeros.
static void copy_right(const float* b, int64_t b_k, int64_t b_column, int64_t columns, int64_t terms, float* to) {
  if (columns < TILE_COLUMNS) memset(to, 0, terms * TILE_COLUMNS * 4);
  if (b_k == 1) return transpose(b, b_column, columns, terms, 1.0f, to, TILE_COLUMNS);
  for (int64_t k = 0; k < terms; ++k) {
    if (b_column == 1 && columns == TILE_COLUMNS) {
      store(to + k * TILE_COLUMNS, load(b + k * b_k));
      store(to + k * TILE_COLUMNS + LANES, load(b + k * b_k + LANES));
    } else {
      for (int64_t j = 0; j < columns; ++j) to[k * TILE_COLUMNS + j] = b[k * b_k + j * b_column];
    }
  }
}

// c (m, n) = a (m, k) · b (k, n), with the strides of a and b; rows of c are contiguous.
extern "C" int64_t dense_product(int64_t threads, int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, int64_t a_k,
                                 const float* b, int64_t b_k, int64_t b_column, float* c, int64_t c_row) {
  const int64_t steps = parts(k, MOST_TERMS), terms = parts(k, steps), panels = parts(n, TILE_COLUMNS);
  const int64_t tiles = parts(m, TILE_ROWS), together = terms > 256 ? 12 : 24;  // tiles that read a panel one after the other
  const int64_t unit = smaller(together, parts(tiles, threads)), units = parts(tiles, unit);
  const bool copies = (a_k == 1 ? a_row : a_k) * 4 >= FAR;
  const int64_t in_place = b_column == 1 && tiles <= FEW_TILES ? n / TILE_COLUMNS : 0;  // panels of b that are not packed
  const int64_t own = unit * TILE_ROWS * terms;
  float* memory = (float*)aligned_alloc(64, parts((panels * TILE_COLUMNS * terms + threads * own) * 4, 64) * 64);
  if (!memory) return NO_MEMORY;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    float* left = memory + panels * TILE_COLUMNS * terms + omp_get_thread_num() * own;
    alignas(64) float rest[TILE_ROWS * TILE_COLUMNS];
    for (int64_t begin = 0; begin < k; begin += terms) {
      const int64_t taken = smaller(terms, k - begin);
#pragma omp for schedule(static)
      for (int64_t panel = in_place; panel < panels; ++panel) {
        const int64_t column = panel * TILE_COLUMNS;
        copy_right(b + begin * b_k + column * b_column, b_k, b_column, smaller(TILE_COLUMNS, n - column), taken,
                   memory + column * terms);
      }
#pragma omp for schedule(static)
      for (int64_t number = 0; number < units; ++number) {
        const int64_t first = number * unit, last = smaller(tiles, first + unit);
        const auto copied = [&](int64_t t) { return copies || m - t * TILE_ROWS < TILE_ROWS; };
        for (int64_t t = first; t < last; ++t) {
          const float* from = a + t * TILE_ROWS * a_row + begin * a_k;
          float* copy = left + (t - first) * TILE_ROWS * terms;
          if (copied(t)) copy_left(from, a_row, a_k, smaller(TILE_ROWS, m - t * TILE_ROWS), taken, copy);
        }
        for (int64_t panel = 0; panel < panels; ++panel) {
          const int64_t column = panel * TILE_COLUMNS, columns = smaller(TILE_COLUMNS, n - column);
          const bool packed = panel >= in_place;
          const float* right = packed ? memory + column * terms : b + begin * b_k + column;
          const int64_t right_k = packed ? TILE_COLUMNS : b_k;
          for (int64_t t = first; t < last; ++t) {
            const bool whole = columns == TILE_COLUMNS && m - t * TILE_ROWS >= TILE_ROWS;
            float *to = c + t * TILE_ROWS * c_row + column, *out = whole ? to : rest;
            const int64_t out_row = whole ? c_row : TILE_COLUMNS;
            const float* copy = left + (t - first) * TILE_ROWS * terms;
            if (m - t * TILE_ROWS < TILE_ROWS) {
              last_tile(m - t * TILE_ROWS, taken, copy, right, right_k, out, out_row, true);
            } else if (copied(t)) {
              tile<TILE_ROWS>(taken, copy, 1, TILE_ROWS, right, right_k, out, out_row, !begin || !whole);
            } else {
              const float* from = a + t * TILE_ROWS * a_row + begin * a_k;
              tile<TILE_ROWS>(taken, from, a_row, a_k, right, right_k, out, out_row, !begin || !whole);
            }
            if (whole) continue;
            for (int64_t i = 0; i < smaller(TILE_ROWS, m - t * TILE_ROWS); ++i)
              for (int64_t j = 0; j < columns; ++j)
                to[i * c_row + j] = rest[i * TILE_COLUMNS + j] + (begin ? to[i * c_row + j] : 0);
          }
        }
      }
    }
  }
  free(memory);
  return 0;
}
