// The gradient by the images of a 3 × 3 convolution by Winograd's algorithms (Lavin & Gray 2016).
//
// stride 1   F(4×4, 3×3): 36 products for 4 × 4 pixels instead of 144
// stride 2   along a side, even pixels read one tap, directly; odd ones read two, by F(4, 2): 81
//            products for 8 × 8 pixels instead of 144
//
// The points are ±√½, ±√2, ∞ and 0, for which float32 loses the least: half of the error with ±1 and
// ±2. Pixels are (image, y, x, channel). A tile of the result comes from a patch of the convolution's
// gradient. The patches of a chunk are transformed to matrices, and each is multiplied by the
// transformed weight by dense.cpp's tile. Results are equal for any number of threads and images.
// Compiled with contraction to fused multiply-adds. The interface is plain C.

#include "../linear/dense.cpp"

constexpr int64_t TOGETHER_TILES = 4 * TILE_ROWS;  // of a chunk
constexpr float A = 0.70710678118654752f, B = 1.41421356237309505f;

struct Sizes {
  int64_t threads, images, from[2], to[2];  // height and width of the gradients by sums and by images
  int64_t outputs, channels;                // N, C
  int64_t stride;
  int64_t before[2];                        // rows and columns of zeros in front of the gradient by sums
};

// The transforms along a side: of PATCH gradients and of three weights to PRODUCTS, and of these to
// SIDE pixels. `factor` is the weight of a product among those of `weights`, WEIGHTS.
struct Stride1 {
  static constexpr int PATCH = 6, PRODUCTS = 6, WEIGHTS = 6, SIDE = 4;
  static constexpr int factor(int product) { return product; }

  INLINE void gradients(const Vector d[], Vector to[]) {
    const Vector even_a = d[4] - 2.0f * d[2], odd_a = A * (d[3] - 2.0f * d[1]);
    const Vector even_b = d[4] - 0.5f * d[2], odd_b = B * (d[3] - 0.5f * d[1]);
    to[0] = d[0] - 2.5f * d[2] + d[4];
    to[1] = even_a + odd_a;
    to[2] = even_a - odd_a;
    to[3] = even_b + odd_b;
    to[4] = even_b - odd_b;
    to[5] = d[1] - 2.5f * d[3] + d[5];
  }

  INLINE void weights(const Vector w[], Vector to[]) {
    const Vector even_a = (w[2] + 0.5f * w[0]) * (-2.0f / 3), odd_a = (-2.0f / 3 * A) * w[1];
    const Vector even_b = (w[2] + 2.0f * w[0]) * (1.0f / 6), odd_b = (B / 6) * w[1];
    to[0] = w[2];
    to[1] = even_a + odd_a;
    to[2] = even_a - odd_a;
    to[3] = even_b + odd_b;
    to[4] = even_b - odd_b;
    to[5] = w[0];
  }

  INLINE void pixels(const Vector m[], Vector to[]) {
    const Vector sum_a = m[1] + m[2], sum_b = m[3] + m[4], less_a = A * (m[1] - m[2]), less_b = B * (m[3] - m[4]);
    to[0] = m[0] + sum_a + sum_b;
    to[1] = less_a + less_b;
    to[2] = 0.5f * sum_a + 2.0f * sum_b;
    to[3] = 0.5f * less_a + 2.0f * less_b + m[5];
  }
};

struct Stride2 {
  static constexpr int PATCH = 5, PRODUCTS = 9, WEIGHTS = 6, SIDE = 8;
  static constexpr int factor(int product) { return product < 4 ? 0 : product - 3; }

  INLINE void gradients(const Vector d[], Vector to[]) {
    const Vector even_a = d[3] - 2.0f * d[1], odd_a = A * (d[2] - 2.0f * d[0]);
    const Vector even_b = d[3] - 0.5f * d[1], odd_b = B * (d[2] - 0.5f * d[0]);
    for (int i = 0; i < 4; ++i) to[i] = d[i];
    to[4] = even_a + odd_a;
    to[5] = even_a - odd_a;
    to[6] = even_b + odd_b;
    to[7] = even_b - odd_b;
    to[8] = d[4] - 2.5f * d[2] + d[0];
  }

  INLINE void weights(const Vector w[], Vector to[]) {
    const Vector of_a = (-1.0f / 3 / A) * w[2], of_b = (1.0f / 3 / B) * w[2];
    to[0] = w[1];
    to[1] = of_a - (1.0f / 3) * w[0];
    to[2] = -of_a - (1.0f / 3) * w[0];
    to[3] = of_b + (1.0f / 3) * w[0];
    to[4] = -of_b + (1.0f / 3) * w[0];
    to[5] = w[0];
  }

  INLINE void pixels(const Vector m[], Vector to[]) {
    const Vector sum_a = m[4] + m[5], sum_b = m[6] + m[7], less_a = A * (m[4] - m[5]), less_b = B * (m[6] - m[7]);
    for (int i = 0; i < 4; ++i) to[2 * i] = m[i];
    to[1] = sum_a + sum_b;
    to[3] = less_a + less_b;
    to[5] = 0.5f * sum_a + 2.0f * sum_b;
    to[7] = 0.5f * less_a + 2.0f * less_b + m[8];
  }
};

INLINE Vector load_some(const float* from, int64_t count) {
  if (count >= LANES) return load(from);
  float lanes[LANES] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i] = from[i];
  return load(lanes);
}

// The weight (N, 3, 3, C) as [weight of products][panel of channels][N][TILE_COLUMNS].
template <typename Stride>
static void transform_weights(const Sizes& n, const float* weight, float* to) {
  constexpr int WEIGHTS = Stride::WEIGHTS;
  const int64_t panels = parts(n.channels, TILE_COLUMNS), apart = panels * n.outputs * TILE_COLUMNS;
#pragma omp parallel for schedule(static) num_threads(n.threads) if (n.threads > 1)
  for (int64_t unit = 0; unit < panels * n.outputs; ++unit) {
    const int64_t panel = unit / n.outputs, output = unit % n.outputs;
    for (int64_t column = 0; column < TILE_COLUMNS; column += LANES) {
      const int64_t channel = panel * TILE_COLUMNS + column;
      Vector half[WEIGHTS][3], all[WEIGHTS];
      for (int x = 0; x < 3; ++x) {
        Vector w[3];
        for (int y = 0; y < 3; ++y) w[y] = load_some(weight + (output * 9 + y * 3 + x) * n.channels + channel, n.channels - channel);
        Stride::weights(w, all);
        for (int i = 0; i < WEIGHTS; ++i) half[i][x] = all[i];
      }
      for (int i = 0; i < WEIGHTS; ++i) {
        Stride::weights(half[i], all);
        for (int j = 0; j < WEIGHTS; ++j)
          store(to + (i * WEIGHTS + j) * apart + (panel * n.outputs + output) * TILE_COLUMNS + column, all[j]);
      }
    }
  }
}

// A patch of the gradient by sums as rows of matrices, `apart` from each other.
template <typename Stride>
static void transform_patch(const Sizes& n, const float* image, int64_t top, int64_t left, float* to, int64_t apart) {
  constexpr int PATCH = Stride::PATCH, PRODUCTS = Stride::PRODUCTS;
  for (int64_t first = 0; first < n.outputs; first += LANES) {
    Vector half[PRODUCTS][PATCH], all[PRODUCTS];
#pragma GCC unroll 6
    for (int x = 0; x < PATCH; ++x) {
      Vector d[PATCH];
#pragma GCC unroll 6
      for (int y = 0; y < PATCH; ++y) {
        const bool inside = top + y >= 0 && top + y < n.from[0] && left + x >= 0 && left + x < n.from[1];
        const float* from = image + ((top + y) * n.from[1] + left + x) * n.outputs + first;
        d[y] = inside ? load_some(from, n.outputs - first) : Vector{};
      }
      Stride::gradients(d, all);
#pragma GCC unroll 9
      for (int i = 0; i < PRODUCTS; ++i) half[i][x] = all[i];
    }
#pragma GCC unroll 9
    for (int i = 0; i < PRODUCTS; ++i) {
      Stride::gradients(half[i], all);
#pragma GCC unroll 9
      for (int j = 0; j < PRODUCTS; ++j) store(to + (i * PRODUCTS + j) * apart + first, all[j]);
    }
  }
}

// The inverse: rows of matrices as pixels of the gradient by images.
template <typename Stride>
static void finish_tile(const Sizes& n, const float* from, int64_t apart, int64_t top, int64_t left, float* image) {
  constexpr int SIDE = Stride::SIDE, PRODUCTS = Stride::PRODUCTS;
  for (int64_t first = 0; first < n.channels; first += LANES) {
    const int64_t count = smaller(LANES, n.channels - first);
    Vector half[SIDE][PRODUCTS], all[SIDE];
#pragma GCC unroll 9
    for (int j = 0; j < PRODUCTS; ++j) {
      Vector m[PRODUCTS];
#pragma GCC unroll 9
      for (int i = 0; i < PRODUCTS; ++i) m[i] = load(from + (i * PRODUCTS + j) * apart + first);
      Stride::pixels(m, all);
#pragma GCC unroll 8
      for (int i = 0; i < SIDE; ++i) half[i][j] = all[i];
    }
    for (int y = 0; y < SIDE && top + y < n.to[0]; ++y) {
      Stride::pixels(half[y], all);
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

template <typename Stride>
static int64_t by_images(const Sizes& n, const float* gradient, const float* weight, float* to) {
  constexpr int WEIGHTS = Stride::WEIGHTS * Stride::WEIGHTS, PRODUCTS = Stride::PRODUCTS * Stride::PRODUCTS;
  const int64_t across = parts(n.to[1], Stride::SIDE), of_image = parts(n.to[0], Stride::SIDE) * across;
  const int64_t panels = parts(n.channels, TILE_COLUMNS), columns = panels * TILE_COLUMNS;
  const int64_t rows = parts(n.outputs, LANES) * LANES, tiles = n.images * of_image;
  const int64_t of_left = TOGETHER_TILES * rows, of_sums = TOGETHER_TILES * columns, of_weight = columns * n.outputs;
  const int64_t own = PRODUCTS * (of_left + of_sums);
  float* memory = (float*)aligned_alloc(64, (WEIGHTS * of_weight + n.threads * own) * 4);
  if (!memory) return NO_MEMORY;
  float* const right = memory;
  transform_weights<Stride>(n, weight, right);
#pragma omp parallel num_threads(n.threads) if (n.threads > 1)
  {
    float *left = memory + WEIGHTS * of_weight + omp_get_thread_num() * own, *sums = left + PRODUCTS * of_left;
    memset(left, 0, PRODUCTS * of_left * 4);  // also rows of a last chunk behind its tiles
#pragma omp for schedule(static)
    for (int64_t begin = 0; begin < tiles; begin += TOGETHER_TILES) {
      const int64_t count = smaller(TOGETHER_TILES, tiles - begin);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t image = (begin + i) / of_image, y = (begin + i) % of_image / across, x = (begin + i) % across;
        constexpr int64_t STEP = 4;  // pixels of the gradient by sums between tiles
        transform_patch<Stride>(n, gradient + image * n.from[0] * n.from[1] * n.outputs, y * STEP - n.before[0],
                                x * STEP - n.before[1], left + i * rows, of_left);
      }
      for (int product = 0; product < PRODUCTS; ++product) {
        const int factor = Stride::factor(product / Stride::PRODUCTS) * Stride::WEIGHTS + Stride::factor(product % Stride::PRODUCTS);
        for (int64_t panel = 0; panel < panels; ++panel) {
          const float* b = right + factor * of_weight + panel * n.outputs * TILE_COLUMNS;
          for (int64_t i = 0; i < count; i += TILE_ROWS)
            tile<TILE_ROWS>(n.outputs, left + product * of_left + i * rows, rows, 1, b, TILE_COLUMNS,
                            sums + product * of_sums + i * columns + panel * TILE_COLUMNS, columns, true);
        }
      }
      for (int64_t i = 0; i < count; ++i) {
        const int64_t image = (begin + i) / of_image, y = (begin + i) % of_image / across, x = (begin + i) % across;
        finish_tile<Stride>(n, sums + i * columns, of_sums, y * Stride::SIDE, x * Stride::SIDE,
                            to + image * n.to[0] * n.to[1] * n.channels);
      }
    }
  }
  free(memory);
  return 0;
}

extern "C" int64_t winograd_by_images(const Sizes* sizes, const float* gradient, const float* weight, float* to) {
  return sizes->stride == 1 ? by_images<Stride1>(*sizes, gradient, weight, to) : by_images<Stride2>(*sizes, gradient, weight, to);
}
