// Two threads, joined by TCP: one lends a piece of its memory, the other writes into it, once.
#include <cstring>
#include <framewire/transport.hpp>
#include <future>
#include <iostream>
#include <string>

namespace fw = framewire::transport;
using framewire::Result;
using framewire::Status;

Result<void> send(const std::string& address, const fw::SessionOptions& options,
                  const std::string& text) {
  auto channel = fw::connect(address, options);
  if (!channel) return framewire::fail(channel.error());
  const auto memory = fw::Region::allocate_host(4096);
  if (!memory) return framewire::fail(memory.error());
  std::memcpy(memory->data(), text.data(), text.size());
  while (channel->credits(fw::Direction::kPut) == 0 && !channel->lost()) {
    if (!channel->progress()) channel->idle(1);
  }
  const auto lease = channel->take_lease(fw::Direction::kPut);
  if (!lease) return framewire::fail(lease.error());
  const auto put = channel->put(*lease, *memory, 0, text.size());
  if (!put) return framewire::fail(put.error());
  if (const auto done = channel->wait(*put); !done) return framewire::fail(done.error());
  return {};
}

Result<std::string> receive(fw::Listener& listener) {
  auto channel = listener.accept(10'000);
  if (!channel) return framewire::fail(channel.error());
  const auto memory = fw::Region::allocate_host(4096);
  if (!memory) return framewire::fail(memory.error());
  const auto offer = channel->offer(*memory, 0, 4096);
  if (!offer) return framewire::fail(offer.error());
  const auto done = channel->wait(*offer);
  if (!done) return framewire::fail(done.error());
  channel->close();  // what is on its way, the confirmation above all, goes out before
  return std::string(reinterpret_cast<const char*>(memory->data()), done->length_bytes);
}

int main() {
  const auto failed = [](const Status& status) {
    std::cerr << status.to_string() << '\n';
    return 1;
  };
  fw::SessionOptions options;
  options.security.insecure = true;  // between strangers: psk_file, or certificates
  auto listener = fw::Listener::listen("localhost:0", options);
  if (!listener) return failed(listener.error());
  const std::string address = "localhost:" + std::to_string(listener->port());
  auto sender = std::async(std::launch::async, send, address, options, "from one to the other");
  const auto text = receive(*listener);
  const auto sent = sender.get();
  if (!text) return failed(text.error());
  if (!sent) return failed(sent.error());
  std::cout << *text << '\n';
}
