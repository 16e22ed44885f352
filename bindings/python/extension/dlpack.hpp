// The binary interface of DLPack 1.0, as its dlpack.h declares it. Old capsules hold a
// ManagedTensor, versioned ones a VersionedTensor.
#pragma once

#include <cstdint>

namespace framewire::python::dlpack {

enum DeviceType : std::int32_t {
  kCpu = 1,
  kCuda = 2,
  kCudaHost = 3,
  kRocmHost = 11,
  kCudaManaged = 13,
};
enum TypeCode : std::uint8_t { kUnsigned = 1, kFloat = 2, kBfloat = 4 };

constexpr std::uint64_t kReadOnly = 1;  ///< a flag of VersionedTensor
constexpr std::uint64_t kCopied = 2;    ///< a flag of VersionedTensor

/// Names of capsules. A consumer that takes a tensor over changes the name.
constexpr const char* kOld = "dltensor";
constexpr const char* kOldUsed = "used_dltensor";
constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kVersionedUsed = "used_dltensor_versioned";

struct Device {
  std::int32_t type = 0;
  std::int32_t ordinal = 0;
};

struct ElementType {
  std::uint8_t code = 0;
  std::uint8_t bits = 0;
  std::uint16_t lanes = 1;
  friend bool operator==(const ElementType&, const ElementType&) = default;
};

struct Tensor {
  void* data = nullptr;
  Device device;
  std::int32_t ndim = 0;
  ElementType dtype;
  std::int64_t* shape = nullptr;
  std::int64_t* strides = nullptr;  ///< in elements; null: C-contiguous
  std::uint64_t byte_offset = 0;
};

struct ManagedTensor {
  Tensor tensor;
  void* context = nullptr;
  void (*deleter)(ManagedTensor*) = nullptr;
};

struct VersionedTensor {
  std::uint32_t major = 1;
  std::uint32_t minor = 0;
  void* context = nullptr;
  void (*deleter)(VersionedTensor*) = nullptr;
  std::uint64_t flags = 0;
  Tensor tensor;
};

}  // namespace framewire::python::dlpack
