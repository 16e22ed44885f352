// Pictures by URL, where the original has failed and there is another for it.
#include <service/http/frame_size.hpp>
#include <service/http/images.hpp>

namespace framewire::service::http {

// @param code  of the error, should no other be set
// @return whether the fallback is made; never twice
bool Images::fall_back(const Computation& computation, Code code, std::string_view why) {
  const auto& fallback = computation->snapshot->fallback;
  if (!fallback || computation->as_it_is || computation->falls_back) return false;
  // Its bytes are there once for all requests; its pixels are work like others.
  auto verdict = ClientAdmission::Verdict::kAdmitted;
  {
    const std::lock_guard lock(computation->charging);
    verdict = computation->io->shared().admission.change(computation->ticket, 0,
                                                         count_frame_pixels(fallback->bytes()));
  }
  if (verdict != ClientAdmission::Verdict::kAdmitted) return false;
  ImageOutcome& outcome = computation->outcome;
  outcome.is_fallback = true;
  outcome.fallback_code = computation->snapshot->settings.fallback_status == 0
                              ? code
                              : static_cast<Code>(computation->snapshot->settings.fallback_status);
  outcome.log_line = why;
  outcome.source_bytes = fallback->bytes().size();
  computation->falls_back = true;
  computation->original = {};
  computation->original.bytes = fallback->bytes();
  computation->original.keeper = fallback->keeper();
  if (computation->snapshot->settings.debug_headers) measure(*computation);
  computation->io->shared().metrics.fallback_images.add();
  hand_in(computation);
  return true;
}

}  // namespace framewire::service::http
