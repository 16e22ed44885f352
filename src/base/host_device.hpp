// Marks arithmetic that kernels and the host share; expands to nothing without nvcc.
#pragma once

#if defined(__CUDACC__)
#define FW_HD __host__ __device__
#else
#define FW_HD
#endif
