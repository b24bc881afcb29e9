// Convolutions of spikes by the products of spikes.cpp: an output pixel is a row, and the spikes in
// its window select rows of the weight (ky, kx, c).
//
// Spikes are kept as fields of bits, [power of two][64 channels][step][item][pixel]: a field has
// the channels of a pixel, 64 at most. The fields of a window side by side are the words of a row.
// Computes a few thousand pixels at a time, so that their words stay in cache. Compiled at first use
// with the macros of spikes.cpp without a neuron. The interface is plain C.

#include "../linear/spikes.cpp"

constexpr int64_t PIECE = 512 << 10;  // bytes of the words that are computed together

struct Image {
  int64_t threads, pixels, channels, largest;
  int64_t bytes;     // of a field: 1, 2, 4 or 8
  int64_t of_image;  // pixels of an image if its numbers are (channels, pixels); 0 if (pixels, channels)

  int64_t parts_of_pixel() const { return parts(channels, WORD); }
  int planes() const {
    int planes = 0;
    for (int64_t rest = largest; rest; rest /= 2) ++planes;
    return planes;
  }
};

// Calls `then` with the fields, in their type.
template <typename Then>
static int64_t typed(int64_t bytes, void* fields, Then then) {
  switch (bytes) {
    case 1: return then((uint8_t*)fields);
    case 2: return then((uint16_t*)fields);
    case 4: return then((uint32_t*)fields);
    default: return then((uint64_t*)fields);
  }
}

// Packs WORD numbers into a word of each plane, `stride` words apart; returns the number of set bits.
static int64_t pack_word(const Image& n, const float* from, uint64_t* words, int64_t stride, bool* strange) {
  if (n.largest > 1) return planes_of(from, n.largest, n.planes(), words, stride, strange);
  return __builtin_popcountll(words[0] = ones_of(from, strange));
}

template <typename Field>
static int64_t pack_fields(const Image& n, const float* x, Field* fields) {
  constexpr int64_t BITS = 8 * sizeof(Field);
  const bool flat = n.largest == 1 && (n.channels == BITS || n.channels % WORD == 0);
  const int64_t of_pixel = n.parts_of_pixel(), units = flat ? parts(n.pixels * n.channels, WORD) : n.pixels;
  const int planes = n.planes();
  int64_t ones = 0;
  bool stop = false;
#pragma omp parallel for schedule(static) num_threads(n.threads) if (n.threads > 1) reduction(+ : ones) reduction(|| : stop)
  for (int64_t unit = 0; unit < units; ++unit) {
    if (stop) continue;
    bool strange = false;
    alignas(64) float buffer[WORD];
    if (flat) {
      const int64_t count = smaller(WORD, n.pixels * n.channels - unit * WORD);
      const uint64_t word = ones_of(block_of<WORD>(x + unit * WORD, 1, count, buffer), &strange);
      ones += __builtin_popcountll(word);
      if (BITS == WORD) {
        fields[unit % of_pixel * n.pixels + unit / of_pixel] = (Field)word;
      } else {
        for (int64_t i = 0; i < count / BITS; ++i) fields[unit * (WORD / BITS) + i] = (Field)(word >> i * BITS % WORD);
      }
    } else {
      for (int64_t part = 0; part < of_pixel; ++part) {
        const int64_t count = smaller(WORD, n.channels - part * WORD);
        const float* from = block_of<WORD>(x + unit * n.channels + part * WORD, 1, count, buffer);
        uint64_t words[8];
        ones += pack_word(n, from, words, 1, &strange);
        for (int plane = 0; plane < planes; ++plane) fields[(plane * of_pixel + part) * n.pixels + unit] = (Field)words[plane];
      }
    }
    stop = strange;
  }
  return stop ? -1 : ones;
}

// The same of images (channels, pixels): squares of bits are turned.
template <typename Field>
static int64_t pack_channels(const Image& n, const float* x, Field* fields) {
  const int64_t of_pixel = n.parts_of_pixel(), of_line = parts(n.of_image, WORD), units = n.pixels / n.of_image * of_line;
  const int planes = n.planes();
  int64_t ones = 0;
  bool stop = false;
#pragma omp parallel for schedule(static) num_threads(n.threads) if (n.threads > 1) reduction(+ : ones) reduction(|| : stop)
  for (int64_t unit = 0; unit < units; ++unit) {
    if (stop) continue;
    const int64_t image = unit / of_line, first = unit % of_line * WORD, count = smaller(WORD, n.of_image - first);
    bool strange = false;
    alignas(64) float buffer[WORD];
    for (int64_t part = 0; part < of_pixel; ++part) {
      uint64_t squares[8][WORD] = {};
      for (int64_t i = 0; i < smaller(WORD, n.channels - part * WORD); ++i) {
        const int64_t channel = image * n.channels + part * WORD + i;
        const float* from = block_of<WORD>(x + channel * n.of_image + first, 1, count, buffer);
        ones += pack_word(n, from, squares[0] + i, WORD, &strange);
      }
      for (int plane = 0; plane < planes; ++plane) {
        transpose_bits(squares[plane]);
        Field* to = fields + (plane * of_pixel + part) * n.pixels + image * n.of_image + first;
        for (int64_t i = 0; i < count; ++i) to[i] = (Field)squares[plane][i];
      }
    }
    stop = strange;
  }
  return stop ? -1 : ones;
}

// Packs the numbers of images; returns the number of set bits, or −1 if one is no spike.
extern "C" int64_t conv_pack(const Image* image, const float* x, void* fields) {
  return typed(image->bytes, fields, [&](auto* to) {
    return image->of_image ? pack_channels(*image, x, to) : pack_fields(*image, x, to);
  });
}

struct Window {
  int64_t channels, image[2], kernel[2], stride[2], padding[2], places[2];  // height and width
  int64_t of_part, of_step, of_item;                                        // fields between them
  int64_t items, bytes;                                                     // images of a step; of a field
};

// Words of the rows [row, row + rows), output pixels in the order (step, item, y, x).
template <typename Field>
static void fill_words(const Numbers& n, const Window& w, const Field* fields, int64_t row, int64_t rows, uint64_t* words) {
  const int64_t of_pixel = parts(w.channels, WORD), width = w.places[1], of_image = w.places[0] * width;
  const int64_t first_line = row / width, lines = (row + rows - 1) / width - first_line + 1;
#pragma omp parallel for schedule(static) num_threads(n.threads) if (n.threads > 1)
  for (int64_t line = first_line; line < first_line + lines; ++line) {
    const int64_t begin = std::max(line * width, row), end = smaller((line + 1) * width, row + rows);
    const int64_t image = line / w.places[0], top = line % w.places[0] * w.stride[0] - w.padding[0];
    const Field* of_line = fields + image / w.items * w.of_step + image % w.items * w.of_item;
    for (int64_t word = 0; word < n.planes() * n.words(); ++word) memset(words + word * rows + begin - row, 0, (end - begin) * 8);
    for (int64_t ky = 0; ky < w.kernel[0]; ++ky) {
      if (top + ky < 0 || top + ky >= w.image[0]) continue;
      for (int64_t kx = 0; kx < w.kernel[1]; ++kx) {
        const int64_t left = kx - w.padding[1], stride = w.stride[1];  // pixel x · stride + left
        const int64_t from = std::max(begin - line * width, left < 0 ? parts(-left, stride) : 0);
        const int64_t to = smaller(end - line * width, left < w.image[1] ? (w.image[1] - 1 - left) / stride + 1 : 0);
        for (int64_t part = 0; part < of_pixel; ++part) {
          const int64_t bit = (ky * w.kernel[1] + kx) * w.channels + part * WORD, shift = bit % WORD;
          const bool two = shift + smaller(WORD, w.channels - part * WORD) > WORD;
          for (int plane = 0; plane < n.planes(); ++plane) {
            const Field* pixel = of_line + (plane * of_pixel + part) * w.of_part + (top + ky) * w.image[1] + left;
            uint64_t* low = words + (plane * n.words() + bit / WORD) * rows + line * width - row;
            uint64_t* high = low + rows;
            if (stride == 1) {
#pragma omp simd
              for (int64_t x = from; x < to; ++x) low[x] |= (uint64_t)pixel[x] << shift;
            } else {
              for (int64_t x = from; x < to; ++x) low[x] |= (uint64_t)pixel[x * stride] << shift;
            }
            if (!two) continue;
            for (int64_t x = from; x < to; ++x) high[x] |= (uint64_t)pixel[x * stride] >> (WORD - shift);
          }
        }
      }
    }
  }
}

// Calls `then(numbers, words, row)` for pieces of the rows; returns the first refusal, or 0.
template <typename Then>
static int64_t in_pieces(const Numbers& all, const Window& window, void* fields, Then then) {
  const int64_t of_row = all.planes() * all.words() * 8;
  const int64_t most = smaller(all.rows(), std::max(CHUNK, PIECE / of_row / CHUNK * CHUNK));
  Memory memory(Memory::room<int64_t>(1) + Memory::room<uint64_t>(most * of_row / 8));
  if (!memory.start) return NO_MEMORY;
  // spikes.cpp reads the number of ones just before the words; `tables_from` decides alone.
  int64_t* words = memory.take<int64_t>(1) + 7;
  words[0] = 0;
  for (int64_t row = 0; row < all.rows(); row += most) {
    Numbers n = all;
    n.steps = smaller(most, all.rows() - row);
    n.given = 1;
    typed(window.bytes, fields, [&](const auto* from) {
      fill_words(n, window, from, row, n.steps, (uint64_t*)words + 1);
      return 0;
    });
    const int64_t refused = then(n, words, row);
    if (refused) return refused;
  }
  return 0;
}

// Writes sums (rows, N) of the rows of the weight (N, K).
extern "C" int64_t conv_forward(const Numbers* n, const Window* window, void* fields, const float* weight, float* sums) {
  return in_pieces(*n, *window, fields, [&](const Numbers& piece, int64_t* words, int64_t row) {
    const ForwardArrays arrays = {nullptr, weight, nullptr, sums + row * piece.outputs, nullptr, words, nullptr};
    return linear_forward(&piece, &arrays);
  });
}

// Writes the gradient by the weight (N, K), from that by the sums (rows, N).
extern "C" int64_t conv_backward(const Numbers* n, const Window* window, void* fields, const float* gradient,
                                 float* by_weight) {
  return in_pieces(*n, *window, fields, [&](Numbers& piece, int64_t* words, int64_t row) {
    piece.given = row > 0;
    BackwardArrays arrays = {};
    arrays.gradient = gradient + row * piece.outputs;
    arrays.words = words;
    arrays.by_weight = by_weight;
    return linear_backward(&piece, &arrays);
  });
}
