#include <cuda.h>
#include <base/file_descriptor.hpp>
#include <cstdint>
#include <transport/cuda/driver.hpp>
#include <transport/cuda/shared_memory.hpp>

namespace framewire::transport::cuda {
namespace {

// One allocation, mapped for one device. Built up step by step; the destructor undoes as many.
class Mapped final : public SharedMemory {
 public:
  explicit Mapped(const Driver& driver) : driver_(driver) {}
  ~Mapped() override {
    if (mapped_) static_cast<void>(driver_.unmap(address_, bytes_));
    if (address_ != 0) static_cast<void>(driver_.unreserve(address_, bytes_));
    if (made_) static_cast<void>(driver_.release(handle_));
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  std::byte* data() const noexcept override {
    return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address_));
  }
  std::uint64_t bytes() const noexcept override { return bytes_; }
  int fd() const noexcept override { return fd_.get(); }

  static CUmemAllocationProp properties(int device) {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return prop;
  }
  // What the owner and the importer both round to, from the same number.
  Result<void> set_size(int device, std::size_t bytes) {
    const CUmemAllocationProp prop = properties(device);
    std::size_t step = 0;
    auto good =
        driver_.check(driver_.granularity(&step, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
                      "asking for the granularity of device memory");
    if (good) bytes_ = (bytes + step - 1) / step * step;
    return good;
  }
  Result<void> create(int device) {
    const CUmemAllocationProp prop = properties(device);
    auto good = driver_.check(driver_.create(&handle_, bytes_, &prop, 0),
                              "allocating device memory for another process");
    made_ = good.has_value();
    if (!good) return good;
    int fd = -1;
    good = driver_.check(
        driver_.export_handle(&fd, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "exporting device memory");
    if (good) fd_ = base::FileDescriptor(fd);
    return good;
  }
  Result<void> import(int fd) {
    // The driver takes the descriptor's value where a pointer is declared.
    auto* os_handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(fd));
    auto good = driver_.check(
        driver_.import_handle(&handle_, os_handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
        "importing another process's device memory");
    made_ = good.has_value();
    return good;
  }
  Result<void> map_for(int device) {
    auto good = driver_.check(driver_.reserve(&address_, bytes_, 0, 0, 0), "reserving addresses");
    if (!good) return good;
    good = driver_.check(driver_.map(address_, bytes_, 0, handle_, 0), "mapping device memory");
    mapped_ = good.has_value();
    if (!good) return good;
    CUmemAccessDesc access{};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return driver_.check(driver_.set_access(address_, bytes_, &access, 1),
                         "giving a device access to shared memory");
  }

 private:
  const Driver& driver_;
  CUmemGenericAllocationHandle handle_ = 0;
  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
  base::FileDescriptor fd_;
  bool made_ = false;
  bool mapped_ = false;
};

}  // namespace

Result<std::unique_ptr<SharedMemory>> make_shared(int device, std::size_t bytes) {
  const auto& driver = Driver::get();
  if (!driver) return fail(driver.error());
  auto memory = std::make_unique<Mapped>(*driver);
  if (auto good = memory->set_size(device, bytes); !good) return fail(good.error());
  if (auto good = memory->create(device); !good) return fail(good.error());
  if (auto good = memory->map_for(device); !good) return fail(good.error());
  return memory;
}

Result<std::unique_ptr<SharedMemory>> import_shared(int owner, int user, int fd,
                                                    std::size_t bytes) {
  const auto& driver = Driver::get();
  if (!driver) return fail(driver.error());
  auto memory = std::make_unique<Mapped>(*driver);
  if (auto good = memory->set_size(owner, bytes); !good) return fail(good.error());
  if (auto good = memory->import(fd); !good) return fail(good.error());
  if (auto good = memory->map_for(user); !good) return fail(good.error());
  return memory;
}

}  // namespace framewire::transport::cuda
