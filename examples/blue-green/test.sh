#!/bin/sh
# Fails when the new back end has nothing in stock. Then the front end never switches to it.
answer=$(curl -fsS "http://$BACKEND/") || exit 1
echo "$answer"
case $answer in
  *'stock 0') echo "The back end at $BACKEND has no stock." >&2; exit 3 ;;
esac
