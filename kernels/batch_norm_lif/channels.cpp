// Batch normalisation beside the neuron on CPUs: sums over channels, and rows of numbers from them.
//
// Arrays are contiguous: currents (outer, channels, inner), sums (items, channels, inner), and rows
// (repeats, channels, inner), which repeat one number for each channel. One thread adds up a channel, in the
// same order for any number of threads: a few hundred numbers in float32, then in float64. Compiled
// at first use with the macro NORM_CURRENT, the element type of currents, and that of rows.h.

#include <cmath>

#include "../lif/cpu/rows.h"

constexpr int64_t PIECE = 128;  // numbers side by side that are added in float32
constexpr int64_t STEPS = 64;   // numbers of a channel below each other that are
constexpr int64_t LANES = 16;   // channels that are added side by side where inner is 1

struct Size {
  int64_t threads, outer, channels, inner, repeats;

  int64_t of_row() const { return repeats * channels * inner; }
};

// Copies the first of the repeats of some rows to the others.
static void repeat(const Size& size, float* rows, int64_t count) {
  const int64_t length = size.channels * size.inner;
  for (float* row = rows; row < rows + count * size.of_row(); row += size.of_row())
    for (int64_t i = 1; i < size.repeats; ++i) std::copy_n(row, length, row + i * length);
}

// Adds Σ (x − center) and Σ (x − center)² of channels [first, first + count) to `sums` and
// `squares`.
template <typename T>
static void add(const T* x, const Size& size, int64_t first, int64_t count, const float* center, double* sums, double* squares) {
  if (size.inner > 1) {
    for (int64_t c = first; c < first + count; ++c)
      for (int64_t o = 0; o < size.outer; ++o)
        for (int64_t start = 0; start < size.inner; start += PIECE) {
          const T* row = x + (o * size.channels + c) * size.inner + start;
          const int64_t length = std::min(PIECE, size.inner - start);
          const float middle = center[c - first];
          float sum = 0, square = 0;
#pragma omp simd reduction(+ : sum, square)
          for (int64_t j = 0; j < length; ++j) {
            const float distance = widen(row[j]) - middle;
            sum += distance;
            square += distance * distance;
          }
          sums[c - first] += sum;
          squares[c - first] += square;
        }
    return;
  }
  for (int64_t start = 0; start < size.outer; start += STEPS) {
    float sum[LANES] = {}, square[LANES] = {};
    for (int64_t o = start; o < std::min(start + STEPS, size.outer); ++o) {
      const T* row = x + o * size.channels + first;
#pragma omp simd
      for (int64_t j = 0; j < count; ++j) {
        const float distance = widen(row[j]) - center[j];
        sum[j] += distance;
        square[j] += distance * distance;
      }
    }
    for (int64_t j = 0; j < count; ++j) sums[j] += sum[j], squares[j] += square[j];
  }
}

// Adds the numbers (count, inner) of some channels to `sums` (count,).
static void add_row(const float* row, int64_t inner, int64_t count, double* sums) {
  if (inner == 1) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) sums[c] += row[c];
    return;
  }
  for (int64_t c = 0; c < count; ++c, row += inner) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < inner; ++j) sum += row[j];
    sums[c] += sum;
  }
}

static float rate_of(float variance, float epsilon) { return 1.0f / std::sqrt(variance + epsilon); }

extern "C" {

// Mean and biased variance (channels,). The second scan sums distances from the first scan's mean,
// and corrects its rounding.
void norm_statistics(const Size* size, const NORM_CURRENT* x, float* mean, float* variance) {
  const double numbers = (double)size->outer * size->inner;
  const int64_t blocks = (size->channels + LANES - 1) / LANES;
#pragma omp parallel for schedule(static) num_threads(size->threads) if (size->threads > 1)
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = block * LANES, count = std::min(LANES, size->channels - first);
    float center[LANES] = {};
    double sums[LANES] = {}, left[LANES] = {}, squares[LANES] = {}, unused[LANES] = {};
    add(x, *size, first, count, center, sums, unused);
    for (int64_t j = 0; j < count; ++j) center[j] = (float)(sums[j] / numbers);
    add(x, *size, first, count, center, left, squares);
    for (int64_t j = 0; j < count; ++j) {
      const double beside = left[j] / numbers;
      mean[first + j] = (float)(center[j] + beside);
      variance[first + j] = (float)(squares[j] / numbers - beside * beside);
    }
  }
}

// Rows of the scale γ·r, of the shift β − μ·γ·r and of the mean μ, with r = 1/√(variance + ε); γ
// and β null: 1 and 0.
void norm_rows(const Size* size, const float* mean, const float* variance, const float* weight, const float* bias, float* rows,
               float epsilon) {
  const int64_t inner = size->inner, apart = size->of_row();
  for (int64_t c = 0; c < size->channels; ++c) {
    const float rate = rate_of(variance[c], epsilon), scale = weight ? weight[c] * rate : rate, moved = -mean[c] * scale;
    std::fill_n(rows + c * inner, inner, scale);
    std::fill_n(rows + apart + c * inner, inner, bias ? bias[c] + moved : moved);
    std::fill_n(rows + 2 * apart + c * inner, inner, mean[c]);
  }
  repeat(*size, rows, 3);
}

// From Σ_t e and Σ_t e·(x − μ) (items, channels, inner), where `outer` are the items: the gradients
// by weight and by bias (channels,) and, unless null, rows of the factor of x − μ and of the
// constant in the second scan. m: numbers in a channel.
void norm_gradients(const Size* size, const float* errors, const float* by_current, const float* variance, const float* weight,
                    float* by_weight, float* by_bias, float* mixed, float epsilon, double m) {
  const int64_t inner = size->inner, channels = size->channels;
#pragma omp parallel for schedule(static) num_threads(size->threads) if (size->threads > 1)
  for (int64_t first = 0; first < channels; first += LANES) {
    const int64_t count = std::min(LANES, channels - first);
    double error[LANES] = {}, product[LANES] = {};
    for (int64_t o = 0; o < size->outer; ++o) {
      add_row(errors + (o * channels + first) * inner, inner, count, error);
      add_row(by_current + (o * channels + first) * inner, inner, count, product);
    }
    for (int64_t c = first; c < first + count; ++c) {
      const double rate = rate_of(variance[c], epsilon), scale = weight ? weight[c] * rate : rate;
      by_weight[c] = (float)(product[c - first] * rate);
      by_bias[c] = (float)error[c - first];
      if (!mixed) continue;
      std::fill_n(mixed + c * inner, inner, (float)(-scale * rate * rate * product[c - first] / m));
      std::fill_n(mixed + size->of_row() + c * inner, inner, (float)(-scale * error[c - first] / m));
    }
  }
  if (mixed) repeat(*size, mixed, 2);
}

// Adds the factor times x − μ, and the constant, to the scaled errors (outer, row): the gradient by the
// currents x, from rows of the mean, of the factor and of the constant.
void norm_mix(const Size* size, const NORM_CURRENT* x, const float* center, const float* factor, const float* constant,
              NORM_CURRENT* errors) {
  const int64_t row = size->of_row();
#pragma omp parallel for schedule(static) num_threads(size->threads) if (size->threads > 1)
  for (int64_t o = 0; o < size->outer; ++o) {
    const NORM_CURRENT* currents = x + o * row;
    NORM_CURRENT* to = errors + o * row;
#pragma omp simd
    for (int64_t i = 0; i < row; ++i) narrow((widen(to[i]) + factor[i] * (widen(currents[i]) - center[i])) + constant[i], to + i);
  }
}
}
