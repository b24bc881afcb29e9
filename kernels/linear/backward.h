// The backward pass of spikes.cpp.

#pragma once

struct BackwardArrays {
  const LINEAR_SPIKE* gradient;  // by spikes or sums: (T, B, N), any strides
  const float* potentials;       // (T, B, N), with a neuron
  const int64_t* words;          // those of forward; missing without `by_weight`
  const float* weight;           // (N, K), for `by_input`
  LINEAR_SUM* by_weight;         // (N, K), may be missing
  float* by_bias;                // (N,), may be missing
  float* by_input;               // (T, B, K), may be missing
  float* errors;                 // e (T, B, N), may be missing
  Dense* dense;
};

// e of the rows [row, row + rows) and a block of outputs: to `table`, to `errors` (of a row
// `stride` apart), and their sum.
static void error_rows(const Numbers& n, const BackwardArrays& arrays, int64_t block, int64_t row, int64_t rows, float* table,
                       float* errors, float* state, float* sum) {
  const int64_t column = block * BLOCK, count = smaller(BLOCK, n.outputs - column);
  alignas(64) float g_buffer[BLOCK], v_buffer[BLOCK], block_sum[BLOCK] = {};
  int64_t step = (row + rows - 1) / n.batch, of_batch = (row + rows - 1) % n.batch;
  for (int64_t i = rows - 1; i >= 0; --i, --of_batch) {
    if (of_batch < 0) {
      --step;
      of_batch = n.batch - 1;
    }
    const int64_t r = row + i;
    const LINEAR_SPIKE* from = arrays.gradient + step * n.strides[0] + of_batch * n.strides[1] + column * n.strides[2];
    const float* __restrict g = block_of(from, n.strides[2], count, g_buffer);
    float* __restrict e = table + i * BLOCK;
#if LINEAR_NEURON
    const LifNeuron neuron = n.neuron;
    const float* __restrict v = block_of(arrays.potentials + r * n.outputs + column, 1, count, v_buffer);
    float* __restrict p = state + of_batch * BLOCK;
    if (r >= 8) {
      for (int64_t j = 0; j < count; j += 16) {
        __builtin_prefetch(arrays.potentials + (r - 8) * n.outputs + column + j);
        __builtin_prefetch(from - 8 * n.strides[n.batch > 1] + j);
      }
    }
#pragma omp simd
    for (int64_t j = 0; j < BLOCK; ++j) {
      const float error = lif_error(neuron, v[j], g[j], 0.0f, p[j]);
      p[j] = neuron.decay * error;
      block_sum[j] += error;
      e[j] = error;
    }
#else
    memcpy(e, g, BLOCK * 4);
#endif
    if (errors) memcpy(errors + i * n.outputs, e, count * 4);
  }
  for (int64_t j = 0; j < BLOCK; ++j) sum[j] += block_sum[j];
}

// Bit j of word i becomes bit i of word j (Hacker's Delight, 7-3).
static void transpose_bits(uint64_t words[WORD]) {
  uint64_t mask = 0x00000000ffffffffull;
  for (int j = 32; j; j >>= 1, mask ^= mask << j) {
    for (int k = 0; k < 64; k = (k + j + 1) & ~j) {
      const uint64_t swapped = ((words[k] >> j) ^ words[k + j]) & mask;
      words[k] ^= swapped << j;
      words[k + j] ^= swapped;
    }
  }
}

// Words of the inputs; their bits select rows of a chunk: [plane][words of 64 rows][inputs].
static void turn(const Numbers& n, const uint64_t* words, int64_t row, int64_t rows, int64_t unit, uint64_t* turned) {
  const int64_t of_rows = parts(rows, WORD), word = unit % n.words(), first = unit / n.words() % of_rows * WORD;
  const int64_t plane = unit / n.words() / of_rows, count = smaller(WORD, rows - first);
  uint64_t square[WORD] = {};
  memcpy(square, words + (plane * n.words() + word) * n.rows() + row + first, count * 8);
  transpose_bits(square);
  memcpy(turned + unit / n.words() * n.inputs + word * WORD, square, smaller(WORD, n.inputs - word * WORD) * 8);
}

// The gradient by the weights of a block of outputs and the inputs [first, end), from sums
// [inputs][64].
static void put_weights(const Numbers& n, LINEAR_SUM* to, const float* sums, int64_t count, int64_t first, int64_t end) {
  alignas(64) float square[BLOCK * BLOCK];
  for (int64_t k = first; k < end; k += BLOCK) {
    const int64_t columns = smaller(BLOCK, end - k);
    transpose(sums + k * BLOCK, BLOCK, columns, BLOCK, 1.0f, square, BLOCK);
    for (int64_t j = 0; j < count; ++j) {
      LINEAR_SUM* row = to + j * n.inputs + k;
      if (n.given)
        for (int64_t i = 0; i < columns; ++i) square[j * BLOCK + i] += widen(row[i]);
      put_block(row, square + j * BLOCK, columns, false);
    }
  }
}

extern "C" int64_t linear_backward(const Numbers* numbers, const BackwardArrays* addresses) {
  const Numbers n = *numbers;
  const BackwardArrays arrays = *addresses;
  const uint64_t* words = arrays.words ? (const uint64_t*)arrays.words + 1 : nullptr;
  const int64_t rows = n.rows(), threads = smaller(n.threads, n.blocks());
  const int64_t most = smaller(smaller(CHUNK, parts(parts(rows, 2), SELECTED) * SELECTED), rows);
  const int64_t of_plane = parts(most, SELECTED), selected = arrays.by_weight ? n.planes() * of_plane : 0;
  const bool tables = arrays.by_weight && by_tables(n, arrays.words[0]);
  // Sums of all rows at once stay with the thread, and are written while they are in L1. Of several
  // chunks, those of a full block are computed in place; others, and those of short types, in
  // separate memory.
  const bool at_once = rows <= most;
  const bool in_place = sizeof(LINEAR_SUM) == 4 && !n.given;
  const int64_t block_sums = arrays.by_weight ? n.inputs * BLOCK : 0, apart = at_once ? 0 : in_place ? 1 : n.blocks();
  const int64_t turned_words = arrays.by_weight ? n.planes() * parts(most, WORD) * n.inputs : 0;
  const int64_t list_bytes = arrays.by_weight && !tables ? Lists::bytes(n.inputs, selected) : 0;
  const int64_t errors_kept = arrays.by_input && !arrays.errors ? most * n.outputs : 0;
  const int64_t of_state = LINEAR_NEURON ? n.batch * BLOCK : 0, of_states = n.blocks() * of_state;
  const int64_t of_outputs = Memory::room<float>(of_states) + Memory::room<float>(n.blocks() * BLOCK);
  const int64_t of_lists = Memory::room<uint64_t>(turned_words) + Memory::room<uint8_t>(list_bytes);
  Memory memory(Own::bytes(threads, block_sums, tables) + of_outputs + of_lists + Memory::room<float>(apart * block_sums) +
                Memory::room<float>(errors_kept));
  if (!memory.start) return NO_MEMORY;
  float *states = memory.take<float>(of_states), *biases = memory.take<float>(n.blocks() * BLOCK);
  float *others = memory.take<float>(apart * block_sums), *kept = memory.take<float>(errors_kept);
  uint64_t* turned = memory.take<uint64_t>(turned_words);
  uint8_t* list_memory = memory.take<uint8_t>(list_bytes);
  memset(states, 0, of_states * 4);
  memset(biases, 0, n.blocks() * BLOCK * 4);
  Own* const own = Own::take(memory, threads, block_sums, tables);
  for (int64_t row = (rows - 1) / most * most; row >= 0; row -= most) {
    const int64_t taken = smaller(most, rows - row), of_rows = parts(taken, WORD), blocks = parts(taken, SELECTED);
    const Lists lists(list_memory, n.inputs, n.planes() * blocks);
    const auto words_of = [&](int64_t block, int upper) -> const uint64_t* {
      const int64_t plane = block / blocks, word = block % blocks * 2 + upper;
      return word < of_rows ? turned + (plane * of_rows + word) * n.inputs : nullptr;
    };
    float* errors = arrays.errors ? arrays.errors + row * n.outputs : arrays.by_input ? kept : nullptr;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
      if (arrays.by_weight) {
#pragma omp for schedule(static)
        for (int64_t unit = 0; unit < n.planes() * of_rows * n.words(); ++unit) turn(n, words, row, taken, unit, turned);
        if (!tables) {
#pragma omp for schedule(static)
          for (int64_t unit = 0; unit < lists.segments * n.planes() * blocks; ++unit) {
            const int64_t block = unit / lists.segments;
            lists.fill(block, unit % lists.segments, words_of(block, 0), words_of(block, 1));
          }
        }
      }
#pragma omp for schedule(static)
      for (int64_t out = 0; out < n.blocks(); ++out) {
        const int64_t count = smaller(BLOCK, n.outputs - out * BLOCK);
        LINEAR_SUM* to = arrays.by_weight ? arrays.by_weight + out * BLOCK * n.inputs : nullptr;
        const Own& mine = own[omp_get_thread_num()];
        float* sums = in_place && count == BLOCK ? (float*)to : others + (apart > 1 ? out : 0) * block_sums;
        if (at_once) sums = mine.sums;
        memset(mine.table + SELECTED * BLOCK, 0, BLOCK * 4);
        for (int64_t part = blocks - 1; part >= 0; --part) {
          const int64_t first = part * SELECTED, in_part = smaller(SELECTED, taken - first);
          float* errors_to = errors ? errors + first * n.outputs + out * BLOCK : nullptr;
          error_rows(n, arrays, out, row + first, in_part, mine.table, errors_to, states + out * of_state,
                     biases + out * BLOCK);
          if (!arrays.by_weight) continue;
          for (int plane = 0; plane < n.planes(); ++plane) {
            const int64_t block = plane * blocks + part;
            const bool begin = row + most >= rows && part == blocks - 1 && !plane;
            const bool end = at_once && !part && plane == n.planes() - 1;
            const auto then = [&](int64_t from, int64_t until) {
              if (end) put_weights(n, to, sums, count, from, until);
            };
            if (tables) {
              add_by_tables(words_of(block, 0), words_of(block, 1), n.inputs, mine.table, (float)(1 << plane), begin, sums,
                            mine.partial, then);
            } else {
              add_by_lists(lists, block, mine.table, (float)(1 << plane), begin, sums, then);
            }
          }
        }
        if (row || at_once || !arrays.by_weight) continue;
        if (sums == (float*)to) {
          memcpy(mine.sums, sums, block_sums * 4);
          sums = mine.sums;
        }
        put_weights(n, to, sums, count, 0, n.inputs);
      }
    }
    if (arrays.by_input) {
      float* const to = arrays.by_input + row * n.inputs;
      const int64_t refused =
          arrays.dense(n.threads, taken, n.inputs, n.outputs, errors, n.outputs, 1, arrays.weight, n.inputs, 1, to, n.inputs);
      if (refused) return refused;
    }
  }
  if (arrays.by_bias) memcpy(arrays.by_bias, biases, n.outputs * 4);
  return 0;
}
