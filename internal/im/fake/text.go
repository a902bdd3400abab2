// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"math/rand/v2"

	"example.org/app/internal/im/check"
)

// Names and texts of generated users.
var (
	firstNames = []string{
		"Ada", "Alan", "Alice", "Amir", "Anna", "Aoife", "Bela", "Ben", "Chen", "Clara", "Diego", "Elif", "Emil", "Eva", "Femi", "Finn",
		"Grace", "Hana", "Hugo", "Ines", "Ivan", "Jana", "Joon", "Juan", "Kai", "Kofi", "Lena", "Leo", "Lin", "Luca", "Maja", "Mei",
		"Mila", "Nia", "Noah", "Olga", "Omar", "Paul", "Priya", "Rosa", "Sami", "Sara", "Sofia", "Tariq", "Uma", "Vera", "Yara", "Zoe",
	}
	lastNames = []string{
		"Ali", "Baker", "Bauer", "Brown", "Costa", "Diaz", "Dubois", "Eriksen", "Fischer", "Garcia", "Haddad", "Hansen", "Ito", "Jensen",
		"Kaya", "Khan", "Kim", "Kovac", "Kumar", "Lee", "Lopez", "Meyer", "Moreau", "Mwangi", "Nguyen", "Novak", "Okafor", "Park", "Patel",
		"Popov", "Rossi", "Sato", "Silva", "Singh", "Smith", "Tanaka", "Wang", "Weber", "Wong", "Zhang",
	}
	intros = []string{
		"", "", "Hello!", "Coffee first.", "I like long walks and short meetings.", "Away until Monday.", "Cyclist, cook, reader.",
		"Ask me about gardens.", "Working from the train.", "Here to listen.", "Musik ist alles.", "Bonjour à tous 👋",
	}
	groupWords = [2][]string{
		{"Morning", "Green", "Quiet", "Happy", "Late", "Little", "Open", "Northern", "Red", "Weekend", "Winter", "Young"},
		{"Bakers", "Climbers", "Cooks", "Cyclists", "Gardeners", "Gamers", "Hikers", "Neighbours", "Painters", "Readers", "Runners", "Singers"},
	}
	lines = []string{
		"Hi!", "Good morning!", "How are you?", "Fine, thanks. And you?", "Are we still on for tonight?", "Yes, see you at eight.",
		"I am running ten minutes late.", "No problem.", "Did you see the news?", "Not yet, what happened?", "Call me when you can.",
		"Where are you?", "On the train.", "Can you send me the photos?", "Sure, in a minute.", "That was great 😀", "Thank you!",
		"Happy birthday! 🎂", "What is for dinner?", "Soup again.", "The meeting is at three.", "I will bring the cake.", "Who has the keys?",
		"They are on the table.", "Good night.", "See you tomorrow.", "Let us talk about it next week.", "Have a look at this.", "Perfect.",
	}
)

func pick(random *rand.Rand, list []string) string { return list[random.IntN(len(list))] }

// within truncates a text to a limit; 0 means no limit.
func within(text string, limit int32) string {
	for limit > 0 && check.Length(text) > int(limit) {
		runes := []rune(text)
		text = string(runes[:len(runes)-1])
	}
	return text
}
