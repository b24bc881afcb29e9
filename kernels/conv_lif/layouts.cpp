// Copies images between channels first and channels last: matrices (rows, columns) become (columns,
// rows). Compiled at first use. The interface is plain C.

#include "../linear/vectors.h"

constexpr int64_t STRIP = 256;  // columns that are turned together: what they become stays in L2

extern "C" void turn(int64_t threads, int64_t images, int64_t rows, int64_t columns, const float* from, float* to) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t image = 0; image < images; ++image) {
    const int64_t first = image * rows * columns;
    for (int64_t column = 0; column < columns; column += STRIP)
      transpose(from + first + column, columns, rows, smaller(STRIP, columns - column), 1.0f, to + first + column * rows, rows);
  }
}
