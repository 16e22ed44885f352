// What the shared library shows to its users. All else is hidden by the compiler.
#pragma once

/// FRAMEWIRE_API stands before every public function, and every public class with members that are
/// not defined in its header. FRAMEWIRE_LOCAL stands before classes in such a class that only the
/// library knows. tests/install/public_symbols.py looks for what was forgotten.
///
/// A static library shows nothing: its CMake target and its pkg-config file define
/// FRAMEWIRE_STATIC, so that a shared library which contains it does not hand on its symbols.
#if defined(FRAMEWIRE_STATIC)
#define FRAMEWIRE_API
#define FRAMEWIRE_LOCAL
#else
#define FRAMEWIRE_API [[gnu::visibility("default")]]
#define FRAMEWIRE_LOCAL [[gnu::visibility("hidden")]]
#endif
