# shellcheck shell=dash
# The far guest: takes orders, one a connection, until the near one has gone.
if [ "${1:-}" = order ]; then
  read -r word rest
  case "$word" in
    serve)
      echo $$
      # Two words.
      # shellcheck disable=SC2086
      exec transport_far_end $rest
      ;;
    *)
      sh -c "$word $rest" >/dev/null 2>&1 || true
      echo ok
      ;;
  esac
  exit
fi
nc -ll -p 7000 -e sh /framewire/far.sh order
