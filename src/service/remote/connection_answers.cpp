// From what the engine answers to what the client is offered.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <ipc/answer.hpp>
#include <service/remote/connection.hpp>
#include <string>
#include <utility>

namespace framewire::service::remote {
namespace {

constexpr std::uint64_t kMinExpectedBytes = 1024;

}  // namespace

Result<bool> RemoteClientConnection::take_answers() {
  auto answers = completions_->take(kGroupSize, std::chrono::microseconds(0));
  // Counted first: whatever is thrown below, the engine has let go of all of these.
  in_engine_ -= answers.size();
  for (std::size_t i = 0; i < answers.size(); ++i) share_.left();
  for (Completion& completion : answers) {
    answer(static_cast<std::uint32_t>(completion.tag), std::move(completion.result));
  }
  return !answers.empty();
}

/// The message with an answer; `busy` where there is no memory for a stream.
ipc::OutgoingMessage RemoteClientConnection::make_answer(ipc::MessageHead head,
                                                         const Result<Resized>& result) {
  std::array<std::byte, ipc::kMaxMessageTextBytes> text;
  if (result) try {
      head.type = ipc::MessageType::kResized;
      const std::size_t bytes = ipc::write_report(result->report, text);
      return ipc::make_message(head, std::span(text).first(bytes), result->bytes);
    } catch (const std::bad_alloc&) {
      return make_answer(head, fail(StatusCode::kBusy, "no memory"));
    }
  head.type = ipc::MessageType::kFailed;
  const std::size_t bytes = ipc::write_error(result.error(), text);
  return ipc::make_message(head, std::span(text).first(bytes), {});
}

/// Answers a slot's request, and lets go of all that it held.
void RemoteClientConnection::answer(std::uint32_t index, Result<Resized> result) {
  Slot& slot = slots_[index];
  if (result && result->bytes.size() > client_output_bytes_) {
    result =
        fail(StatusCode::kTooLarge,
             fmt::format("a stream of {} bytes is more than the {} that the client has for one",
                         result->bytes.size(), client_output_bytes_));
  }
  ipc::MessageHead head;
  head.slot = index;
  head.number = slot.number;
  auto message = make_answer(head, result);
  common_.counters.count_answer(result, result ? result->bytes.size() : 0);
  if (result) {
    expected_bytes_ = std::max(
        {std::uint64_t{message.bytes}, expected_bytes_ - expected_bytes_ / 16, kMinExpectedBytes});
  }
  slot.busy = false;
  --busy_;
  slot.request = {};
  slot.message = {};
  common_.admission.answered(slot.ticket, message.bytes);
  offer(std::move(message), std::move(slot.ticket), true);
}

void RemoteClientConnection::offer(ipc::OutgoingMessage message,
                                   http::ClientAdmission::Ticket ticket, bool is_answer) {
  const std::uint64_t bytes = message.bytes;
  transport::OfferOptions options;
  options.direction = transport::Direction::kGet;
  options.ttl_ms = options.work_ms = time_for(offered_bytes_ + bytes);
  const auto region = transport::Region::view(message.all());
  // In the list first: from then on nothing throws, and the memory stays.
  Offer& kept = offers_.emplace_back(Offer{{}, std::move(message), std::move(ticket), is_answer});
  offered_bytes_ += bytes;
  if (is_answer) ++offered_answers_;
  const auto offered = channel_.offer(region, 0, bytes, options);
  if (offered) {
    kept.transfer = *offered;
  } else {
    failed_ = offered.error();
  }
}

Result<bool> RemoteClientConnection::take_taken() {
  bool moved = false;
  for (auto place = offers_.begin(); place != offers_.end();) {
    const auto offer = place++;
    if (!channel_.done(offer->transfer)) continue;
    moved = true;
    const auto taken = channel_.take_result(offer->transfer);
    // With the connection goes its memory, which the link may still read.
    if (!taken && taken.error().code() == StatusCode::kDeadline) {
      return fail(StatusCode::kDeadline, "the client does not take what it is answered");
    }
    if (!taken) return fail(taken.error());
    offered_bytes_ -= offer->message.bytes;
    if (offer->is_answer) --offered_answers_;
    offers_.erase(offer);
  }
  return moved;
}

void RemoteClientConnection::tell_draining() {
  told_draining_ = true;
  ipc::MessageHead head;
  head.type = ipc::MessageType::kDraining;
  offer(ipc::make_message(head, {}, {}), {}, false);
}

}  // namespace framewire::service::remote
