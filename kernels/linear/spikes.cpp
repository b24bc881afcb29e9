// Products of spikes with a weight, and the neuron behind them, for CPUs.
//
// forward    sums = S·Wᵀ, by selecting rows of Wᵀ; with LINEAR_NEURON the neuron's spikes and
//            potentials of sums + bias
// backward   with LINEAR_NEURON e from the spikes' gradient and the potentials, else e is the
//            gradient by the sums; dW = eᵀ·S by selecting rows of e, db = Σe, dX = e·W by a dense
//            product
//
// Computes 64 outputs at a time, in chunks of rows in the order of time: a table of 128 rows of Wᵀ
// or of e stays in L1 while all items add from it. Threads process blocks of outputs. Compiled at
// first use, with these macros: LINEAR_NEURON, 0 or 1; LINEAR_INPUT, LINEAR_WEIGHT, LINEAR_SPIKE
// and LINEAR_SUM, the element types of the input, the weight, the spikes or sums (or their
// gradient), and the weight's gradient; and with the neuron those of lif_step.h. The interface is
// plain C.

#include <cmath>
#include <cstdlib>

using std::floor;

#include "call.h"

struct ForwardArrays {
  const LINEAR_INPUT* input;    // (T, B, K), any strides
  const LINEAR_WEIGHT* weight;  // (N, K)
  const float* bias;            // (N,), may be missing
  LINEAR_SPIKE* spikes;         // (T, B, N)
  float* potentials;            // (T, B, N), may be missing
  int64_t* words;               // the number of ones and the words of the input
  int64_t* next;                // the same of spikes that are 0 or 1, for a next layer; may be missing
};

#ifdef LINEAR_FORWARD

// Writes words of the input; returns the number of set bits, or −1 if a number is no spike.
static int64_t pack(const Numbers& n, const LINEAR_INPUT* input, uint64_t* words) {
  const int64_t rows = n.rows();
  int64_t ones = 0, strange_rows = 0;
#pragma omp parallel for schedule(static) num_threads(n.threads) if (n.threads > 1) reduction(+ : ones, strange_rows)
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t step = n.batch == 1 ? r : r / n.batch;
    const LINEAR_INPUT* row = input + step * n.strides[0] + (r - step * n.batch) * n.strides[1];
    bool strange = false;
    alignas(64) float buffer[WORD];
    for (int64_t w = 0; w < n.words(); ++w) {
      const float* x = block_of<WORD>(row + w * WORD * n.strides[2], n.strides[2], smaller(WORD, n.inputs - w * WORD), buffer);
      uint64_t* to = words + w * rows + r;
      if (n.largest == 1) {
        *to = ones_of(x, &strange);
        ones += __builtin_popcountll(*to);
      } else {
        ones += planes_of(x, n.largest, n.planes(), to, n.words() * rows, &strange);
      }
    }
    strange_rows += strange;
  }
  return strange_rows ? -1 : ones;
}

// Processes a block of outputs, row by row in the order of time: runs the neuron, or writes the
// sums.
struct Finish {
  const Numbers& n;
  const ForwardArrays& arrays;
  int64_t column, count, of_batch, ones = 0;
  bool past;
  float* state;
  alignas(64) float bias[BLOCK] = {};

  Finish(const Numbers& n, const ForwardArrays& arrays, int64_t block, int64_t row, float* state)
      : n(n),
        arrays(arrays),
        column(block * BLOCK),
        count(smaller(BLOCK, n.outputs - column)),
        of_batch(row % n.batch),
        past(n.rows() * n.outputs * (int64_t)sizeof(LINEAR_SPIKE) > LARGE),
        state(state) {
    if (arrays.bias) memcpy(bias, arrays.bias + column, count * 4);
  }

  // Rows from `row` on; their sums lie one after the other.
  __attribute__((noinline)) void rows(int64_t row, int64_t rows, const float* sums) {
    count == BLOCK ? finish(row, rows, sums, BLOCK) : finish(row, rows, sums, count);
  }

  __attribute__((always_inline)) void finish(int64_t row, int64_t rows, const float* __restrict sum, int64_t count) {
    const int64_t outputs = n.outputs, batch = n.batch;
    const bool past = this->past;
    LINEAR_SPIKE* s_to = arrays.spikes + row * outputs + column;
#if LINEAR_NEURON
    alignas(64) float s_buffer[BLOCK], v_buffer[BLOCK], shift[BLOCK];
    memcpy(shift, bias, sizeof shift);
    const LifNeuron neuron = n.neuron;
    float* v_to = arrays.potentials ? arrays.potentials + row * outputs + column : nullptr;
    uint64_t* word = arrays.next ? (uint64_t*)arrays.next + 1 + column / WORD * n.rows() + row : nullptr;
    const bool ahead = v_to && n.rows() * outputs * (int64_t)sizeof(float) > LARGE;  // fetch the next run's lines: they are far
    int64_t item = of_batch, found = 0;
    for (const float* end = sum + rows * BLOCK; sum < end; sum += BLOCK, s_to += outputs) {
      float* __restrict s = place_block(s_to, s_buffer, count, past);
      float* __restrict v = v_to ? place_block(v_to, v_buffer, count, false) : v_buffer;
      float* __restrict p = state + item * BLOCK;
      if (++item == batch) item = 0;
      if (ahead)
        for (int64_t j = 0; j < BLOCK; j += 16) __builtin_prefetch(v_to + RUN * outputs + j, 1);
#pragma omp simd
      for (int64_t j = 0; j < BLOCK; ++j) {
        const float potential = lif_integrate(neuron, p[j], sum[j] + shift[j]), spike = lif_spike(neuron, potential);
        p[j] = lif_reset(neuron, potential, spike);
        s[j] = spike;
        v[j] = potential;
      }
      if (word) {
        bool strange = false;
        *word = ones_of(s, &strange);
        found += __builtin_popcountll(*word++);
      }
      put_block(s_to, s, count, past);
      if (!v_to) continue;
      put_block(v_to, v, count, false);
      v_to += outputs;
    }
    of_batch = item;
    ones += found;
#else
    for (int64_t i = 0; i < rows; ++i, s_to += outputs) put_block(s_to, sum + i * BLOCK, count, past);
#endif
  }
};

extern "C" int64_t linear_pack(const Numbers* numbers, const ForwardArrays* arrays) {
  return arrays->words[0] = pack(*numbers, arrays->input, (uint64_t*)arrays->words + 1);
}

// Returns the number of ones; −1, without further writes, if the input is no spikes.
extern "C" int64_t linear_forward(const Numbers* numbers, const ForwardArrays* addresses) {
  const Numbers n = *numbers;
  const ForwardArrays arrays = *addresses;
  uint64_t* words = (uint64_t*)arrays.words + 1;
  if (!n.given) linear_pack(numbers, addresses);
  const int64_t ones = arrays.words[0], rows = n.rows(), most = smaller(CHUNK, rows);
  if (ones < 0) return ones;
  const bool tables = by_tables(n, ones);
  const int64_t of_plane = parts(n.inputs, SELECTED), selected = n.planes() * of_plane, threads = smaller(n.threads, n.blocks());
  const int64_t of_states = LINEAR_NEURON ? n.blocks() * n.batch * BLOCK : 0;
  const int64_t of_lists = tables ? 0 : Lists::bytes(most, selected);
  Memory memory(Own::bytes(threads, most * BLOCK, tables) + Memory::room<float>(of_states) + Memory::room<uint8_t>(of_lists));
  if (!memory.start) return NO_MEMORY;
  float* states = memory.take<float>(of_states);
  uint8_t* list_memory = memory.take<uint8_t>(of_lists);
  const auto words_of = [&](int64_t block, int upper, int64_t row) -> const uint64_t* {
    const int64_t plane = block / of_plane, word = block % of_plane * 2 + upper;
    return word < n.words() ? words + (plane * n.words() + word) * rows + row : nullptr;
  };
  Own* const own = Own::take(memory, threads, most * BLOCK, tables);
  if (arrays.next) arrays.next[0] = 0;
#pragma omp parallel num_threads(threads) if (threads > 1)
  {
    float *const table = own[omp_get_thread_num()].table, *const sums = own[omp_get_thread_num()].sums;
    float* const partial = own[omp_get_thread_num()].partial;
    memset(table, 0, TABLE * 4);
    for (int64_t row = 0; row < rows; row += most) {
      const int64_t taken = smaller(most, rows - row);
      const Lists lists(list_memory, taken, selected);
      if (!tables) {
#pragma omp for schedule(static)
        for (int64_t unit = 0; unit < selected * lists.segments; ++unit) {
          const int64_t block = unit / lists.segments;
          lists.fill(block, unit % lists.segments, words_of(block, 0, row), words_of(block, 1, row));
        }
      }
#pragma omp for schedule(static)
      for (int64_t out = 0; out < n.blocks(); ++out) {
        const int64_t count = smaller(BLOCK, n.outputs - out * BLOCK);
        float* state = states + out * n.batch * BLOCK;
        if (LINEAR_NEURON && !row) memset(state, 0, n.batch * BLOCK * 4);
        if (count < BLOCK) memset(table, 0, TABLE * 4);
        Finish finish(n, arrays, out, row, state);
        for (int64_t block = 0; block < selected; ++block) {
          const bool last = block == selected - 1;
          const auto then = [&](int64_t from, int64_t to) {
            if (last) finish.rows(row + from, to - from, sums + from * BLOCK);
          };
          const int64_t plane = block / of_plane, first = block % of_plane * SELECTED;
          const LINEAR_WEIGHT* from = arrays.weight + out * BLOCK * n.inputs + first;
          transpose(from, n.inputs, count, smaller(SELECTED, n.inputs - first), (float)(1 << plane), table, BLOCK);
          if (tables) {
            add_by_tables(words_of(block, 0, row), words_of(block, 1, row), taken, table, 1.0f, !block, sums, partial,
                          then);
          } else {
            add_by_lists(lists, block, table, 1.0f, !block, sums, then);
          }
        }
        if (!arrays.next) continue;
#pragma omp atomic
        arrays.next[0] += finish.ones;
      }
    }
    finish_writes();
  }
  return ones;
}

#endif
#ifdef LINEAR_BACKWARD
#include "backward.h"
#endif
