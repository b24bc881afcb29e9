// Reads and writes of a CUDA thread's LIF_WIDTH neighbouring sequences, and the start of both
// kernels.
//
// The tensors of a call are fixed at compile time, so that loops have no branches. launch.py
// defines every macro:
//   LIF_DIMS, LIF_WIDTH    dims to walk over; neighbours of the last dim per thread
//   LIF_INDEX              type that counts sequences: 32 bits if enough, for fast divisions
//   LIF_PARTIAL            1 if the last dim is no multiple of LIF_WIDTH: every access is checked
//   LIF_<STEPPED TENSOR>   0 absent, 1 any stride, 2 adjacent and aligned: one wide access
//   LIF_<INNER TENSOR>     0 absent, 1 present: any stride, read or written once
//   LIF_TYPE_<TENSOR>      element type
//   <stepped tensor>_step  constant stride of time: saves a third of a step's instructions
// Strides are in elements, of any sign, and 0 only in tensors that are read; offsets have 64 bits.
// A written tensor overlaps no other. Every sequence belongs to one thread, and threads do not
// synchronise.

#pragma once

#include "../lif_step.h"

#define LIF_DEVICE __device__ __forceinline__
#define LIF_STRIDED 1
#define LIF_DENSE 2

struct LifHalf {
  unsigned short bits;
};
struct LifBfloat {
  unsigned short bits;
};
struct LifByte {
  unsigned char bits;
};

// LIF_IF(LIF_TENSOR, text): the text if the tensor is present (macro 1 or 2).
#define LIF_IF(present, ...) LIF_IF_EXPANDED(present, __VA_ARGS__)
#define LIF_IF_EXPANDED(present, ...) LIF_IF_##present(__VA_ARGS__)
#define LIF_IF_0(...)
#define LIF_IF_1(...) __VA_ARGS__
#define LIF_IF_2(...) __VA_ARGS__

#ifndef LIF_EMULATED  // the tests' emulation defines these
LIF_DEVICE float lif_from_half(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
LIF_DEVICE unsigned short lif_to_half(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
LIF_DEVICE unsigned short lif_to_bfloat(float x) {
  unsigned short bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
#endif

LIF_DEVICE float lif_decode(float x) { return x; }
LIF_DEVICE float lif_decode(double x) { return (float)x; }
LIF_DEVICE float lif_decode(LifHalf x) { return lif_from_half(x.bits); }
LIF_DEVICE float lif_decode(LifBfloat x) { return __uint_as_float((unsigned)x.bits << 16); }

LIF_DEVICE void lif_encode(float x, float& to) { to = x; }
LIF_DEVICE void lif_encode(float x, double& to) { to = x; }
LIF_DEVICE void lif_encode(float x, LifHalf& to) { to.bits = lif_to_half(x); }
LIF_DEVICE void lif_encode(float x, LifBfloat& to) { to.bits = lif_to_bfloat(x); }
LIF_DEVICE void lif_encode(float x, LifByte& to) { to.bits = (unsigned char)x; }

// x as three bfloat16 that add up to it. NaN and infinities stay in the first; finite numbers that
// would round to infinity become the largest bfloat16.
LIF_DEVICE float lif_rounded(float x) {
  LifBfloat stored;
  lif_encode(x, stored);
  return lif_decode(stored);
}
LIF_DEVICE void lif_split(float x, float& first, float& second, float& third) {
  const float largest = 3.3895313892515355e38f;
  const bool finite = x - x == 0.0f;
  first = lif_rounded(!finite ? x : x > largest ? largest : x < -largest ? -largest : x);
  float rest = finite ? x - first : 0.0f;
  second = lif_rounded(rest);
  rest = rest - second;
  third = lif_rounded(rest);
}

// Kernel parameters are plain numbers because cuda-core passes no structs: each stride has a name.
#if LIF_DIMS == 1
#define LIF_STRIDES(name) long long name##_last
#define LIF_OF(name) LifStrides{{name##_last}}
#elif LIF_DIMS == 2
#define LIF_STRIDES(name) long long name##_2, long long name##_last
#define LIF_OF(name) LifStrides{{name##_2, name##_last}}
#elif LIF_DIMS == 3
#define LIF_STRIDES(name) long long name##_1, long long name##_2, long long name##_last
#define LIF_OF(name) LifStrides{{name##_1, name##_2, name##_last}}
#else
#define LIF_STRIDES(name) long long name##_0, long long name##_1, long long name##_2, long long name##_last
#define LIF_OF(name) LifStrides{{name##_0, name##_1, name##_2, name##_last}}
#endif
#define LIF_TENSOR(type, name) type *__restrict__ name, LIF_STRIDES(name)

struct LifStrides {
  long long over[LIF_DIMS];
};

// A thread's sequences: the index of the first, and their number (LIF_WIDTH unless LIF_PARTIAL).
struct LifPlace {
  LifStrides index;
  int valid;
};

LIF_DEVICE LifPlace lif_place(LIF_INDEX group, const LifStrides& sizes) {
  LifPlace place;
#pragma unroll
  for (int d = LIF_DIMS - 1; d > 0; --d) {
    const LIF_INDEX size = (LIF_INDEX)(d == LIF_DIMS - 1 ? (sizes.over[d] + LIF_WIDTH - 1) / LIF_WIDTH : sizes.over[d]);
    place.index.over[d] = group % size;
    group /= size;
  }
  place.index.over[0] = group;
  place.index.over[LIF_DIMS - 1] *= LIF_WIDTH;
  const long long left = sizes.over[LIF_DIMS - 1] - place.index.over[LIF_DIMS - 1];
  place.valid = left < LIF_WIDTH ? (int)left : LIF_WIDTH;
  return place;
}

LIF_DEVICE long long lif_offset(const LifPlace& place, const LifStrides& strides) {
  long long offset = 0;
#pragma unroll
  for (int d = 0; d < LIF_DIMS; ++d) offset += place.index.over[d] * strides.over[d];
  return offset;
}

LIF_DEVICE bool lif_owns(const LifPlace& place, int i) { return !LIF_PARTIAL || i < place.valid; }

// LIF_WIDTH neighbours in their storage type. Short types share registers until they are used.
template <typename Type, bool is_short = (sizeof(Type) < 4)>
struct alignas(sizeof(Type) * LIF_WIDTH < 16 ? sizeof(Type) * LIF_WIDTH : 16) LifPack {
  Type item[LIF_WIDTH];
  LIF_DEVICE Type get(int i) const { return item[i]; }
  LIF_DEVICE void put(int i, Type x) { item[i] = x; }
};

template <typename Type>
struct alignas(sizeof(Type) * LIF_WIDTH < 4 ? 4 : sizeof(Type) * LIF_WIDTH) LifPack<Type, true> {
  static constexpr int in_word = 4 / sizeof(Type), bits = 8 * sizeof(Type);
  unsigned word[(LIF_WIDTH + in_word - 1) / in_word];
  LIF_DEVICE Type get(int i) const {
    Type x;
    x.bits = (decltype(x.bits))(word[i / in_word] >> i % in_word * bits);
    return x;
  }
  LIF_DEVICE void put(int i, Type x) {
    const unsigned shifted = (unsigned)x.bits << i % in_word * bits;
    word[i / in_word] = i % in_word == 0 ? shifted : word[i / in_word] | shifted;  // called in the order of i
  }
};

template <int access, typename Type>
LIF_DEVICE LifPack<Type> lif_load(const Type* __restrict__ at, long long last, const LifPlace& place) {
  if constexpr (access == LIF_DENSE) {
    static_assert(sizeof(LifPack<Type>) == sizeof(Type) * LIF_WIDTH, "a wide access must not be wider than its items");
    return *reinterpret_cast<const LifPack<Type>*>(at);
  } else {
    LifPack<Type> pack;
#pragma unroll
    for (int i = 0; i < LIF_WIDTH; ++i) pack.put(i, lif_owns(place, i) ? at[i * last] : Type{});
    return pack;
  }
}

template <int access, typename Type>
LIF_DEVICE void lif_store(Type* __restrict__ at, long long last, const LifPlace& place, const float (&values)[LIF_WIDTH]) {
  if constexpr (access == LIF_DENSE) {
    static_assert(sizeof(LifPack<Type>) == sizeof(Type) * LIF_WIDTH, "a wide access must not be wider than its items");
    LifPack<Type> pack;
#pragma unroll
    for (int i = 0; i < LIF_WIDTH; ++i) {
      Type item;
      lif_encode(values[i], item);
      pack.put(i, item);
    }
    *reinterpret_cast<LifPack<Type>*>(at) = pack;
  } else {
#pragma unroll
    for (int i = 0; i < LIF_WIDTH; ++i)
      if (lif_owns(place, i)) lif_encode(values[i], at[i * last]);
  }
}

// The address of the thread's first sequence; an inner tensor's neighbours to and from registers,
// which LIF_TAKE also declares.
#define LIF_AT(name) (name + lif_offset(place, LIF_OF(name)))
#define LIF_READ(name, into)                                                                \
  _Pragma("unroll") for (int i = 0; i < LIF_WIDTH; ++i) into[i] =                           \
      lif_owns(place, i) ? name[lif_offset(place, LIF_OF(name)) + i * name##_last] : 0.0f
#define LIF_TAKE(name, into) \
  float into[LIF_WIDTH];     \
  LIF_READ(name, into);
#define LIF_WRITE(name, from) lif_store<LIF_STRIDED>(LIF_AT(name), name##_last, place, from)

// i[t], in the reference's order of rounding
LIF_DEVICE float lif_current(float x, float scale, float shift) {
#if LIF_SCALE
  x = scale * x;
#endif
#if LIF_SHIFT
  x = x + shift;
#endif
  return x;
}

// Last parameters of both kernels, in the order of launch.py.
#define LIF_WALK_AND_NEURON                                                                                       \
  long long steps, long long groups, LIF_STRIDES(size), float decay, float threshold, float subtracted, float slope

// First statements of both kernels: the thread's sequences, the neuron, and the currents' scale and
// shift.
#define LIF_BEGIN                                                          \
  const LIF_INDEX group = (LIF_INDEX)blockIdx.x * LIF_BLOCK + threadIdx.x; \
  if (group >= groups) return;                                             \
  const LifPlace place = lif_place(group, LIF_OF(size));                   \
  const LifNeuron neuron{decay, threshold, subtracted, slope};             \
  float scales[LIF_WIDTH] = {}, shifts[LIF_WIDTH] = {};                    \
  LIF_IF(LIF_SCALE, LIF_READ(scale, scales);)                              \
  LIF_IF(LIF_SHIFT, LIF_READ(shift, shifts);)
