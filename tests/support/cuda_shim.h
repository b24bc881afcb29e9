// Enough of CUDA for g++ to compile a kernel and to run its threads one after the other. No thread of these kernels waits
// for another, so the order does not matter.

#pragma once

extern "C" float floorf(float);  // no standard headers: they take longer to compile than a kernel
extern "C" float rintf(float);

#define LIF_EMULATED
#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

struct Index {
  unsigned x;
};
static Index blockIdx, threadIdx;

template <typename To, typename From>
static To reinterpret(From from) {
  static_assert(sizeof(To) == sizeof(From), "sizes differ");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

static float __uint_as_float(unsigned bits) { return reinterpret<float>(bits); }
static float lif_from_half(unsigned short bits) { return (float)reinterpret<_Float16>(bits); }
static unsigned short lif_to_half(float x) { return reinterpret<unsigned short>((_Float16)x); }
static unsigned short lif_to_bfloat(float x) {
  if (x != x) return 0x7fff;
  const unsigned bits = reinterpret<unsigned>(x);
  return (unsigned short)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);  // to nearest, ties to even
}

// 'p' for a pointer, 'l' for 64 bits of integer, 'f' for a float: what the kernel's parameters are.
template <typename Type>
struct Kind {
  static constexpr char letter = '?';
};
template <typename Type>
struct Kind<Type*> {
  static constexpr char letter = 'p';
};
template <typename Type>
struct Kind<Type* __restrict__> {
  static constexpr char letter = 'p';
};
template <>
struct Kind<float> {
  static constexpr char letter = 'f';
};
template <>
struct Kind<long long> {
  static constexpr char letter = 'l';
};

template <typename... Types>
static const char* parameter_kinds(void (*)(Types...)) {
  static const char kinds[] = {Kind<Types>::letter..., '\0'};
  return kinds;
}

template <unsigned... i>
struct Indices {};

template <typename... Types, unsigned... i>
static void call(void (*kernel)(Types...), void** arguments, Indices<i...>) {
  kernel(*(Types*)arguments[i]...);
}

template <typename... Types>
static void run(void (*kernel)(Types...), unsigned grid, unsigned block, void** arguments) {
  for (blockIdx.x = 0; blockIdx.x < grid; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < block; ++threadIdx.x)
      call(kernel, arguments, Indices<__integer_pack(sizeof...(Types))...>());
}

#define EMULATE(kernel)                                                   \
  extern "C" const char* parameters() { return parameter_kinds(kernel); } \
  extern "C" void launch(unsigned grid, unsigned block, void** arguments) { run(kernel, grid, block, arguments); }
