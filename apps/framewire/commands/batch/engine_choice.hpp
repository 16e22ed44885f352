// Whose engine a batch uses: its own, or that of a server here or elsewhere.
#pragma once

#include <command_line/command.hpp>
#include <framewire/client.hpp>
#include <framewire/engine.hpp>
#include <framewire/status.hpp>
#include <framewire/transport.hpp>
#include <string>

namespace framewire::app {

struct EngineChoice {
  EngineOptions own;                  ///< where both below are empty
  std::string socket;                 ///< of a server on this machine
  std::string address;                ///< of a server on another host,
  transport::SessionOptions session;  ///< and how to reach it
  ClientOptions client;

  [[nodiscard]] bool is_another() const noexcept { return !socket.empty() || !address.empty(); }
};

/// Reads --server and what belongs to it, or what an engine of our own is made of. @return misuse()
[[nodiscard]] Result<EngineChoice> choose_engine(const Arguments& arguments);

/// Connects to the server that was chosen. @return errors of Client::connect()
[[nodiscard]] Result<Client> connect(const EngineChoice& choice);

}  // namespace framewire::app
