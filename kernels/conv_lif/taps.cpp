// The gradient by the images of a convolution, tap by tap: at each place where a tap reads a
// pixel, the gradient by the sums times the weights of the tap is added to this pixel.
//
// Taps that read beside the image, in small images most of them, take no time. Pixels are (image, y,
// x, channel). Results are equal for any number of threads. Compiled with contraction to fused
// multiply-adds. The interface is plain C.

#include "../linear/dense.cpp"

struct Sizes {
  int64_t threads, images, from[2], to[2];  // height and width of the gradients by sums and by images
  int64_t outputs, channels;                // N, C
  int64_t kernel[2], stride[2], padding[2];
};

struct Places {
  int64_t first, count, pixel;  // places of the sums along a side, and the pixel at the first
};

// Those at which a tap reads a pixel.
static Places places_of(const Sizes& n, int side, int64_t tap) {
  const int64_t before = n.padding[side] - tap, stride = n.stride[side];  // pixel = place · stride − before
  const int64_t first = before > 0 ? parts(before, stride) : 0, last = n.to[side] - 1 + before;
  const int64_t end = last < 0 ? 0 : smaller(n.from[side], last / stride + 1);
  return {first, end - first, first * stride - before};
}

extern "C" int64_t taps_by_images(const Sizes* sizes, const float* gradient, const float* weight, float* to) {
  const Sizes n = *sizes;
  const int64_t of_tap = n.images * n.from[0] * n.from[1], taps = n.kernel[0] * n.kernel[1];
  float* const left = (float*)aligned_alloc(64, parts(of_tap * (n.outputs + n.channels) * 4, 64) * 64);
  if (!left) return NO_MEMORY;
  float* const sums = left + of_tap * n.outputs;
  memset(to, 0, n.images * n.to[0] * n.to[1] * n.channels * 4);
  int64_t refused = 0;
  for (int64_t tap = 0; tap < taps && !refused; ++tap) {
    const Places down = places_of(n, 0, tap / n.kernel[1]), across = places_of(n, 1, tap % n.kernel[1]);
    if (down.count <= 0 || across.count <= 0) continue;
    const int64_t lines = n.images * down.count, of_line = across.count;
#pragma omp parallel for schedule(static) num_threads(n.threads) if (n.threads > 1)
    for (int64_t line = 0; line < lines; ++line) {
      const int64_t y = line / down.count * n.from[0] + down.first + line % down.count;
      memcpy(left + line * of_line * n.outputs, gradient + (y * n.from[1] + across.first) * n.outputs, of_line * n.outputs * 4);
    }
    refused = dense_product(n.threads, lines * of_line, n.channels, n.outputs, left, n.outputs, 1, weight + tap * n.channels,
                            taps * n.channels, 1, sums, n.channels);
    if (refused) break;
#pragma omp parallel for schedule(static) num_threads(n.threads) if (n.threads > 1)
    for (int64_t line = 0; line < lines; ++line) {
      const int64_t y = line / down.count * n.to[0] + down.pixel + line % down.count * n.stride[0];
      const float* from = sums + line * of_line * n.channels;
      for (int64_t x = 0; x < of_line; ++x, from += n.channels) {
        float* pixel = to + (y * n.to[1] + across.pixel + x * n.stride[1]) * n.channels;
#pragma omp simd
        for (int64_t c = 0; c < n.channels; ++c) pixel[c] += from[c];
      }
    }
  }
  free(left);
  return refused;
}
