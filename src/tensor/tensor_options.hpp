// Which options a batch can be made with.
#pragma once

#include <framewire/tensor.hpp>

namespace framewire::tensor {

/// @return as TensorDecoder::make()
[[nodiscard]] Result<void> check_options(const TensorOptions& options);

}  // namespace framewire::tensor
