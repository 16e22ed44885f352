#include <fmt/format.h>
#include <client/options_texts.hpp>
#include <ipc/layout.hpp>
#include <ipc/options_text.hpp>
#include <utility>

namespace framewire::client {

std::shared_ptr<const OptionsText> OptionsTexts::find(const ResizeOptions& options) {
  std::shared_ptr<const OptionsText> last;
  {
    const std::lock_guard lock(mutex_);
    last = last_;
  }
  if (last != nullptr && ipc::same_options(last->options, options)) return last;
  auto made = std::make_shared<OptionsText>(OptionsText{options, to_string(options), {}});
  if (auto good = validate(options); !good) {
    made->fault = good.error();
  } else if (made->text.size() > ipc::kMaxOptionsBytes) {
    made->fault = Status(StatusCode::kInternal,
                         fmt::format("the text of the options has {} bytes; there is room for {}",
                                     made->text.size(), ipc::kMaxOptionsBytes));
  }
  const std::lock_guard lock(mutex_);
  last_ = made;
  return made;
}

}  // namespace framewire::client
