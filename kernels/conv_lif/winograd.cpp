// The gradient by the images of a 3 × 3 convolution of stride 1, by Winograd's F(4×4, 3×3) (Lavin &
// Gray 2016): 36 products for 16 pixels instead of 144.
//
// The points are 0, ±√½, ±√2 and ∞, for which float32 loses the least: half of the error with ±1 and
// ±2. Pixels are (image, y, x, channel). A tile is 4 × 4 pixels of the result, from 6 × 6 pixels of
// the convolution's gradient. The tiles of a chunk are transformed to 36 matrices, and each is
// multiplied by the transformed weight by dense.cpp's tile. Results are equal for any number of
// threads and images. Compiled with contraction to fused multiply-adds. The interface is plain C.

#include "../linear/dense.cpp"

constexpr int POINTS = 6, PRODUCTS = POINTS * POINTS, SIDE = 4;
constexpr int64_t TOGETHER_TILES = 4 * TILE_ROWS;  // of a chunk
constexpr float A = 0.70710678118654752f, B = 1.41421356237309505f;

struct Sizes {
  int64_t threads, images, from[2], to[2];  // height and width of the gradients by sums and by images
  int64_t outputs, channels;                // N, C
  int64_t before[2];                        // rows and columns of zeros in front of the gradient by sums

  int64_t across() const { return parts(to[1], SIDE); }
  int64_t of_image() const { return parts(to[0], SIDE) * across(); }
};

INLINE void transform(const Vector d[POINTS], Vector to[POINTS]) {
  const Vector even_a = d[4] - 2.0f * d[2], odd_a = A * (d[3] - 2.0f * d[1]);
  const Vector even_b = d[4] - 0.5f * d[2], odd_b = B * (d[3] - 0.5f * d[1]);
  to[0] = d[0] - 2.5f * d[2] + d[4];
  to[1] = even_a + odd_a;
  to[2] = even_a - odd_a;
  to[3] = even_b + odd_b;
  to[4] = even_b - odd_b;
  to[5] = d[1] - 2.5f * d[3] + d[5];
}

INLINE void transform_weight(const Vector w[3], Vector to[POINTS]) {
  const Vector even_a = (w[0] + 0.5f * w[2]) * (-2.0f / 3), odd_a = (-2.0f / 3 * A) * w[1];
  const Vector even_b = (w[0] + 2.0f * w[2]) * (1.0f / 6), odd_b = (B / 6) * w[1];
  to[0] = w[0];
  to[1] = even_a + odd_a;
  to[2] = even_a - odd_a;
  to[3] = even_b + odd_b;
  to[4] = even_b - odd_b;
  to[5] = w[2];
}

INLINE void transform_back(const Vector m[POINTS], Vector to[SIDE]) {
  const Vector sum_a = m[1] + m[2], sum_b = m[3] + m[4], less_a = A * (m[1] - m[2]), less_b = B * (m[3] - m[4]);
  to[0] = m[0] + sum_a + sum_b;
  to[1] = less_a + less_b;
  to[2] = 0.5f * sum_a + 2.0f * sum_b;
  to[3] = 0.5f * less_a + 2.0f * less_b + m[5];
}

INLINE Vector load_some(const float* from, int64_t count) {
  if (count >= LANES) return load(from);
  float lanes[LANES] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return load(lanes);
}

// The weight (N, 3, 3, C), turned by 180°, as [product][panel of channels][N][TILE_COLUMNS].
static void transform_weights(const Sizes& n, const float* weight, float* to) {
  const int64_t panels = parts(n.channels, TILE_COLUMNS), of_product = panels * n.outputs * TILE_COLUMNS;
#pragma omp parallel for schedule(static) num_threads(n.threads) if (n.threads > 1)
  for (int64_t unit = 0; unit < panels * n.outputs; ++unit) {
    const int64_t panel = unit / n.outputs, output = unit % n.outputs;
    for (int64_t column = 0; column < TILE_COLUMNS; column += LANES) {
      const int64_t channel = panel * TILE_COLUMNS + column;
      Vector half[POINTS][3], all[POINTS];
      for (int x = 0; x < 3; ++x) {
        Vector w[3];
        for (int y = 0; y < 3; ++y) {
          const float* from = weight + (output * 9 + (2 - y) * 3 + 2 - x) * n.channels + channel;
          w[y] = load_some(from, n.channels - channel);
        }
        transform_weight(w, all);
        for (int i = 0; i < POINTS; ++i) half[i][x] = all[i];
      }
      for (int i = 0; i < POINTS; ++i) {
        transform_weight(half[i], all);
        for (int j = 0; j < POINTS; ++j)
          store(to + (i * POINTS + j) * of_product + (panel * n.outputs + output) * TILE_COLUMNS + column, all[j]);
      }
    }
  }
}

// 6 × 6 pixels of the gradient by sums as rows of 36 matrices, `apart` from each other.
static void transform_tile(const Sizes& n, const float* image, int64_t top, int64_t left, float* to, int64_t apart) {
  for (int64_t first = 0; first < n.outputs; first += LANES) {
    Vector half[POINTS][POINTS], all[POINTS];
#pragma GCC unroll 6
    for (int x = 0; x < POINTS; ++x) {
      Vector d[POINTS];
#pragma GCC unroll 6
      for (int y = 0; y < POINTS; ++y) {
        const bool inside = top + y >= 0 && top + y < n.from[0] && left + x >= 0 && left + x < n.from[1];
        const float* from = image + ((top + y) * n.from[1] + left + x) * n.outputs + first;
        d[y] = inside ? load_some(from, n.outputs - first) : Vector{};
      }
      transform(d, all);
#pragma GCC unroll 6
      for (int i = 0; i < POINTS; ++i) half[i][x] = all[i];
    }
#pragma GCC unroll 6
    for (int i = 0; i < POINTS; ++i) {
      transform(half[i], all);
#pragma GCC unroll 6
      for (int j = 0; j < POINTS; ++j) store(to + (i * POINTS + j) * apart + first, all[j]);
    }
  }
}

// The inverse: rows of 36 matrices as 4 × 4 pixels of the gradient by images.
static void finish_tile(const Sizes& n, const float* from, int64_t apart, int64_t top, int64_t left, float* image) {
  for (int64_t first = 0; first < n.channels; first += LANES) {
    const int64_t count = smaller(LANES, n.channels - first);
    Vector half[SIDE][POINTS], all[SIDE];
#pragma GCC unroll 6
    for (int j = 0; j < POINTS; ++j) {
      Vector m[POINTS];
#pragma GCC unroll 6
      for (int i = 0; i < POINTS; ++i) m[i] = load(from + (i * POINTS + j) * apart + first);
      transform_back(m, all);
#pragma GCC unroll 4
      for (int i = 0; i < SIDE; ++i) half[i][j] = all[i];
    }
    for (int y = 0; y < SIDE && top + y < n.to[0]; ++y) {
      transform_back(half[y], all);
      for (int x = 0; x < SIDE && left + x < n.to[1]; ++x) {
        float* to = image + ((top + y) * n.to[1] + left + x) * n.channels + first;
        if (count == LANES) {
          store(to, all[x]);
        } else {
          memcpy(to, &all[x], count * 4);
        }
      }
    }
  }
}

extern "C" int64_t winograd_by_images(const Sizes* sizes, const float* gradient, const float* weight, float* by_images) {
  const Sizes n = *sizes;
  const int64_t panels = parts(n.channels, TILE_COLUMNS), columns = panels * TILE_COLUMNS;
  const int64_t rows = parts(n.outputs, LANES) * LANES, tiles = n.images * n.of_image();
  const int64_t of_left = TOGETHER_TILES * rows, of_sums = TOGETHER_TILES * columns, of_product = columns * n.outputs;
  const int64_t own = PRODUCTS * (of_left + of_sums);
  float* memory = (float*)aligned_alloc(64, (PRODUCTS * of_product + n.threads * own) * 4);
  if (!memory) return NO_MEMORY;
  float* const right = memory;
  transform_weights(n, weight, right);
#pragma omp parallel num_threads(n.threads) if (n.threads > 1)
  {
    float *left = memory + PRODUCTS * of_product + omp_get_thread_num() * own, *sums = left + PRODUCTS * of_left;
    memset(left, 0, PRODUCTS * of_left * 4);  // also rows of a last chunk behind its tiles
#pragma omp for schedule(static)
    for (int64_t begin = 0; begin < tiles; begin += TOGETHER_TILES) {
      const int64_t count = smaller(TOGETHER_TILES, tiles - begin);
      const auto place = [&](int64_t tile, int64_t* top, int64_t* start) {
        const int64_t in_image = tile % n.of_image();
        *top = in_image / n.across() * SIDE;
        *start = in_image % n.across() * SIDE;
        return tile / n.of_image();
      };
      for (int64_t i = 0; i < count; ++i) {
        int64_t top, start;
        const int64_t image = place(begin + i, &top, &start);
        transform_tile(n, gradient + image * n.from[0] * n.from[1] * n.outputs, top - n.before[0], start - n.before[1], left + i * rows,
                       of_left);
      }
      for (int product = 0; product < PRODUCTS; ++product) {
        for (int64_t panel = 0; panel < panels; ++panel) {
          const float* b = right + product * of_product + panel * n.outputs * TILE_COLUMNS;
          for (int64_t i = 0; i < count; i += TILE_ROWS)
            tile(n.outputs, left + product * of_left + i * rows, rows, 1, b,
                 sums + product * of_sums + i * columns + panel * TILE_COLUMNS, columns, true);
        }
      }
      for (int64_t i = 0; i < count; ++i) {
        int64_t top, start;
        const int64_t image = place(begin + i, &top, &start);
        finish_tile(n, sums + i * columns, of_sums, top, start, by_images + image * n.to[0] * n.to[1] * n.channels);
      }
    }
  }
  free(memory);
  return 0;
}
