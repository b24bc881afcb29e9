// A libcuda for machines without a GPU: enough of the driver for cuda-core to launch a kernel that g++ compiled. Its "cubin" is
// the path of a library of cuda_emulation.py. What the last launch was given can be read by ctypes.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_FOUND = 500, NOT_SUPPORTED = 801, MAJOR = 75 };

static int context;
static void* self;
unsigned launches, last_grid, last_block;
void* last_stream;

__attribute__((constructor)) static void begin(void) {
  Dl_info info;
  dladdr(&context, &info);
  self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
}

int cuInit(unsigned flags) { return SUCCESS; }
int cuDriverGetVersion(int* version) { return *version = 13000, SUCCESS; }
int cuDeviceGetCount(int* count) { return *count = 1, SUCCESS; }
int cuDeviceGet(int* device, int index) { return *device = index, index ? INVALID_VALUE : SUCCESS; }
int cuDeviceGetAttribute(int* value, int attribute, int device) { return *value = attribute == MAJOR ? 9 : 0, SUCCESS; }
int cuDevicePrimaryCtxRetain(void** to, int device) { return *to = &context, SUCCESS; }
int cuCtxSetCurrent(void* given) { return given == &context ? SUCCESS : INVALID_VALUE; }
int cuCtxGetCurrent(void** to) { return *to = &context, SUCCESS; }
int cuCtxGetDevice(int* device) { return *device = 0, SUCCESS; }
int cuLibraryLoadData(void** library, const void* code) { return (*library = dlopen(code, RTLD_NOW)) ? SUCCESS : INVALID_VALUE; }
int cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  return dlsym(library, name) && (*kernel = dlsym(library, "launch")) ? SUCCESS : NOT_FOUND;
}
int cuLibraryUnload(void* library) { return SUCCESS; }

typedef struct {
  unsigned grid[3], block[3], shared;
  void* stream;
} Configuration;

int cuLaunchKernelEx(const Configuration* given, void* kernel, void** arguments, void** more) {
  if (given->grid[1] * given->grid[2] * given->block[1] * given->block[2] != 1 || given->shared) return INVALID_VALUE;
  launches += 1, last_grid = given->grid[0], last_block = given->block[0], last_stream = given->stream;
  ((void (*)(unsigned, unsigned, void**))kernel)(last_grid, last_block, arguments);
  return SUCCESS;
}

static int not_supported(void) { return NOT_SUPPORTED; }

int cuGetProcAddress_v2(const char* name, void** function, int version, unsigned long long flags, int* status) {
  *function = strcmp(name, "cuGetProcAddress") ? dlsym(self, name) : (void*)cuGetProcAddress_v2;
  if (!*function) *function = (void*)not_supported;
  if (status) *status = 0;
  return SUCCESS;
}
