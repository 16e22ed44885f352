# The README's listing must be examples/resize.cpp, letter by letter. Argument: SOURCE_DIR.
file(READ "${SOURCE_DIR}/examples/resize.cpp" example)
file(READ "${SOURCE_DIR}/README.md" readme)
string(FIND "${readme}" "```cpp\n${example}```" at)
if(at EQUAL -1)
  message(FATAL_ERROR "README.md does not show examples/resize.cpp as it is")
endif()
