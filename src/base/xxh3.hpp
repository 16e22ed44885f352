// XXH3 by the widest instructions of the CPU it runs on, where libxxhash comes with all of them.
#pragma once

// Then XXH3_64bits() and XXH3_64bits_update() stand for functions that choose. Their values are the
// same. Measured (AMD EPYC, 320 KB that were just read): 18 µs by SSE2, 5 µs by AVX-512.
#ifdef FRAMEWIRE_XXH3_DISPATCH
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif
