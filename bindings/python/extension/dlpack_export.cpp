#include <extension/dlpack_export.hpp>
#include <utility>

namespace framewire::python {
namespace nb = nanobind;

namespace {

// What a consumer holds: a share of the memory, and the arrays that its tensor points to.
template <typename Managed>
struct Exported {
  Managed managed;
  Shape shape;
  Shape strides;
  std::shared_ptr<void> memory;
};

template <typename Managed>
void destroy(Managed* managed) {
  delete static_cast<Exported<Managed>*>(managed->context);
}

// A capsule that nobody has taken over still owns its tensor.
template <typename Managed>
void destroy_capsule(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}
void destroy_old(PyObject* capsule) {
  destroy_capsule<dlpack::ManagedTensor>(capsule, dlpack::kOld);
}
void destroy_versioned(PyObject* capsule) {
  destroy_capsule<dlpack::VersionedTensor>(capsule, dlpack::kVersioned);
}

template <typename Managed>
std::unique_ptr<Exported<Managed>> export_tensor(DlpackExport from) {
  auto exported = std::make_unique<Exported<Managed>>();
  exported->shape = from.shape;
  exported->strides = from.strides;
  exported->memory = std::move(from.memory);
  dlpack::Tensor& tensor = exported->managed.tensor;
  tensor.data = exported->memory.get();
  tensor.device = from.device;
  tensor.ndim = static_cast<std::int32_t>(exported->shape.size());
  tensor.dtype = from.type;
  tensor.shape = exported->shape.data();
  tensor.strides = exported->strides.data();
  exported->managed.context = exported.get();
  exported->managed.deleter = &destroy<Managed>;
  return exported;
}

template <typename Managed>
nb::object capsule_of(std::unique_ptr<Exported<Managed>> exported, const char* name,
                      PyCapsule_Destructor destructor) {
  PyObject* capsule = PyCapsule_New(&exported->managed, name, destructor);
  if (capsule == nullptr) throw nb::python_error();
  (void)exported.release();  // the capsule's now
  return nb::steal(capsule);
}

}  // namespace

nb::object make_capsule(DlpackExport tensor) {
  if (!tensor.versioned) {
    return capsule_of(export_tensor<dlpack::ManagedTensor>(std::move(tensor)), dlpack::kOld,
                      &destroy_old);
  }
  const bool copied = tensor.copied;
  auto exported = export_tensor<dlpack::VersionedTensor>(std::move(tensor));
  if (copied) exported->managed.flags |= dlpack::kCopied;
  return capsule_of(std::move(exported), dlpack::kVersioned, &destroy_versioned);
}

}  // namespace framewire::python
