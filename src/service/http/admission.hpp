// How much work may be under way at once, and how much of it one client's.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace framewire::service::http {

/// Who sends: an IPv4 address, the first 64 bits of an IPv6 address, or nobody that can be told
/// from others (unix sockets). One subscriber has all addresses of a /64.
struct ClientKey {
  std::uint64_t key = 0;  ///< 0: unknown, who shares with nobody
  friend bool operator==(const ClientKey&, const ClientKey&) = default;
};

/// Counts what is under way: requests, bytes of inputs and of answers that wait to be read, pixels
/// of inputs.
///
/// One client may take everything, as long as nobody else is refused for it. Once somebody who
/// holds less than their share has been refused, whoever holds more than theirs gets nothing new
/// for two seconds, and gives way with what moves slowest. Thread safety: all members from any
/// thread; a lock is held for well below a microsecond.
class ClientAdmission {
 public:
  using Clock = std::chrono::steady_clock;

  struct Bounds {
    std::uint64_t requests = 256;
    std::uint64_t bytes = 1ull << 30;
    std::uint64_t pixels = 2'000'000'000;
    std::uint64_t client_share_percent = 50;
  };

  enum class Verdict : std::uint8_t {
    kAdmitted,
    kQueueFull,    ///< too many requests
    kOverBudget,   ///< too many bytes or pixels
    kClientShare,  ///< others wait, and this client has its share
  };

  /// What one request holds; given back with it. Move-only.
  class Ticket {
   public:
    Ticket() = default;
    ~Ticket() { give_back(); }
    Ticket(Ticket&& other) noexcept { *this = std::move(other); }
    Ticket& operator=(Ticket&& other) noexcept;
    [[nodiscard]] bool held() const noexcept { return owner_ != nullptr; }
    void give_back() noexcept;
    /// Counts what it holds in another client's share from now on: what several wait for stays when
    /// one of them goes. All together hold as much as before, and nothing is judged: what is there
    /// is there. Where memory runs out it counts in nobody's share.
    void charge_to(ClientKey client) noexcept;

   private:
    friend class ClientAdmission;
    ClientAdmission* owner_ = nullptr;
    ClientKey client_;
    std::uint64_t requests_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t pixels_ = 0;
  };

  explicit ClientAdmission(const Bounds& bounds) : bounds_(bounds) {}
  ClientAdmission(const ClientAdmission&) = delete;
  ClientAdmission& operator=(const ClientAdmission&) = delete;

  /// Takes room for one request. @param ticket  holds nothing; takes it, where it is admitted
  [[nodiscard]] Verdict admit(ClientKey client, std::uint64_t bytes, std::uint64_t pixels,
                              Ticket& ticket, Clock::time_point now = Clock::now());
  /// As admit(), by somebody whose picture is still to come. There has to be room for the pixels
  /// that it may have, but they are not held: nobody keeps them from others by a length alone.
  [[nodiscard]] Verdict admit_announced(ClientKey client, std::uint64_t bytes, std::uint64_t pixels,
                                        Ticket& ticket, Clock::time_point now = Clock::now());
  /// As admit(), by somebody who waits where there is no room, and asks again: a refusal is no
  /// request turned away, and not counted as one.
  [[nodiscard]] Verdict admit_or_wait(ClientKey client, std::uint64_t bytes, std::uint64_t pixels,
                                      Ticket& ticket, Clock::time_point now = Clock::now());
  /// Changes what a request holds to what is known by now. What is smaller is always granted.
  [[nodiscard]] Verdict change(Ticket& ticket, std::uint64_t bytes, std::uint64_t pixels,
                               Clock::time_point now = Clock::now());
  /// As change(), and as admit_or_wait() is to admit(). Pixels beyond the whole budget count as the
  /// budget: among many who wait none would ever be alone.
  [[nodiscard]] Verdict change_or_wait(Ticket& ticket, std::uint64_t bytes, std::uint64_t pixels,
                                       Clock::time_point now = Clock::now());

  /// As change_or_wait(), once an input has come whole. The client's share of requests and bytes
  /// was judged when the input was admitted, and is not judged again: what has been sent is not
  /// thrown away. Its pixels were not known then. So while others are refused, a client whose
  /// pictures in work have its share of pixels waits until they are less.
  [[nodiscard]] Verdict settle_or_wait(Ticket& ticket, std::uint64_t bytes, std::uint64_t pixels,
                                       Clock::time_point now = Clock::now());

  /// What a client gives up that has more than its share while others are refused. Bodies that are
  /// coming hold requests and bytes, answers hold bytes, and neither holds pixels: what would free
  /// nothing of the excess is not given up.
  struct GivesWay {
    bool bodies = false;
    bool answers = false;
    bool uncharged = false;  ///< of the answers those, too, that hold no bytes of anybody's
    [[nodiscard]] bool any() const noexcept { return bodies || answers; }
  };
  [[nodiscard]] GivesWay gives_way(ClientKey client, Clock::time_point now = Clock::now()) const;
  /// The same, for a thread that is about to end the slowest that it has. Only one thread gets it
  /// in a tenth of a second: several at once would end more than the client has to give up. It is
  /// the one that has the slowest of all, as far as threads have asked lately: so who asks first
  /// waits as long for the others.
  /// @param bytes_per_second  of what it would end
  /// @param asker  the thread; the same one in each call
  [[nodiscard]] GivesWay begin_cut(ClientKey client, double bytes_per_second, const void* asker,
                                   Clock::time_point now = Clock::now());
  /// Whether others are refused.
  [[nodiscard]] bool contended(Clock::time_point now = Clock::now()) const;

  /// Takes room for the bytes of an answer whose request was not admitted.
  [[nodiscard]] Verdict admit_answer(ClientKey client, std::uint64_t bytes, Ticket& ticket,
                                     Clock::time_point now = Clock::now());
  /// The work is done: the ticket keeps only the bytes of the answer, until those are sent.
  void answered(Ticket& ticket, std::uint64_t bytes) noexcept;

  struct Usage {
    std::uint64_t requests = 0;
    std::uint64_t bytes = 0;
    std::uint64_t pixels = 0;
    std::uint64_t clients = 0;  ///< that hold something
    // Verdicts other than kAdmitted, since the beginning.
    std::uint64_t queue_full = 0;
    std::uint64_t over_budget = 0;
    std::uint64_t client_share = 0;
  };
  [[nodiscard]] Usage usage() const;

 private:
  struct Held {
    std::uint64_t requests = 0;
    std::uint64_t bytes = 0;
    std::uint64_t pixels = 0;
    friend bool operator==(const Held&, const Held&) = default;
    Held& operator+=(const Held& other) noexcept {
      requests += other.requests;
      bytes += other.bytes;
      pixels += other.pixels;
      return *this;
    }
    Held& operator-=(const Held& other) noexcept {
      requests -= other.requests;
      bytes -= other.bytes;
      pixels -= other.pixels;
      return *this;
    }
  };
  struct Hash {
    std::size_t operator()(const ClientKey& client) const noexcept {
      return std::hash<std::uint64_t>{}(client.key * 0x9E3779B97F4A7C15u);
    }
  };
  /// Which of what is held a request asks more of.
  struct Grows {
    bool bytes = true;
    bool pixels = true;
  };
  // Called with the lock held.
  [[nodiscard]] Verdict take(ClientKey client, const Held& judged, const Held& wanted, Grows grows,
                             Ticket& ticket, Clock::time_point now);
  [[nodiscard]] Verdict retake(Ticket& ticket, std::uint64_t bytes, std::uint64_t pixels,
                               bool heeds_share, Clock::time_point now);
  Verdict count(Verdict verdict) noexcept;
  [[nodiscard]] Verdict judge(const Held& all, const Held& own, const Held& mine, Grows grows,
                              bool known, Clock::time_point now);
  [[nodiscard]] std::uint64_t share_of(std::uint64_t bound) const noexcept;
  [[nodiscard]] bool beyond_share(const Held& held) const noexcept;
  [[nodiscard]] GivesWay find_excess(ClientKey client, Clock::time_point now) const;
  /// Whether a client has other pixels than a request's, and with these more than its share.
  [[nodiscard]] bool awaits_own_pixels(const Held& own, std::uint64_t pixels,
                                       Clock::time_point now) const noexcept;

  /// What a thread would end.
  struct Offer {
    const void* asker = nullptr;
    double bytes_per_second = 0;
    Clock::time_point when{};
  };

  const Bounds bounds_;
  mutable std::mutex mutex_;
  Held all_;
  std::unordered_map<ClientKey, Held, Hash> clients_;  ///< those that hold something
  Clock::time_point contended_until_{};
  Clock::time_point next_cut_{};
  std::vector<Offer> offers_;                ///< the last one of each thread that has asked lately
  std::array<std::uint64_t, 4> verdicts_{};  ///< by Verdict; those of judge()
};

}  // namespace framewire::service::http
